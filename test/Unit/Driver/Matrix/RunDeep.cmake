# Walks on for the checked-out commit, in the full product or what else WALK says.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
file(MAKE_DIRECTORY ${SOURCE}/bench/results)
execute_process(COMMAND ${MATRIX} --deep=${SOURCE}/bench/results/deep.csv --commit=${commit} ${WALK}
  COMMAND_ERROR_IS_FATAL ANY)
