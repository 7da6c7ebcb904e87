# Judges every edit for the checked-out commit and writes the page with the tables.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(TIMESTAMP date "%Y-%m-%d" UTC)
file(MAKE_DIRECTORY ${SOURCE}/bench/results)
execute_process(COMMAND ${MUTATIONS} ${ARGUMENTS} --seeds=6 --minutes=60 --log=${BINARY}/log
  --deep=${SOURCE}/bench/results/deep.csv --commit=${commit}
  --report=${SOURCE}/docs/Mutations.md
  "--note=Commit ${commit}, ${date}, 6 random orders besides one that is not."
  COMMAND_ERROR_IS_FATAL ANY)
