# Goes on for the checked-out commit, one process per processor, and sums up.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
cmake_host_system_information(RESULT processors QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR last "${processors} - 1")
# A pipeline runs its commands at a time; none reads what the one before it writes.
set(commands)
foreach(number RANGE ${last})
  list(APPEND commands COMMAND ${ORDERS} --log=${BINARY}/orders --commit=${commit}
    --shard=${number}/${processors} --minutes=60)
endforeach()
execute_process(${commands} RESULTS_VARIABLE results)
execute_process(COMMAND ${ORDERS} --log=${BINARY}/orders --commit=${commit}
  --report=${SOURCE}/bench/results/orders.csv COMMAND_ERROR_IS_FATAL ANY)
foreach(result ${results})
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "expected no alarm, but got some")
  endif()
endforeach()
