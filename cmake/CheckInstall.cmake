# Installs BUILD into a fresh prefix and lets examples/embed-cmake (in SOURCE)
# find it there, as an embedder would. Fails unless the example says what it should.
set(prefix ${BUILD}/install-check/prefix)
set(consumer ${BUILD}/install-check/embed)
file(REMOVE_RECURSE ${BUILD}/install-check)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(output "${output}" PARENT_SCOPE)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nfailed with ${result}:\n${output}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --build ${BUILD})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/examples/embed-cmake -B ${consumer}
  -DCMAKE_CXX_COMPILER=${CXX} "-DCMAKE_PREFIX_PATH=${prefix}\;${LLVM_PREFIX}")
run(${CMAKE_COMMAND} --build ${consumer})
# The build tree must not be what makes it work.
run(${LLVM_PREFIX}/bin/llvm-readelf -d ${consumer}/embed-fa4)
if(output MATCHES "${BUILD}/lib[]:]")
  message(FATAL_ERROR "the consumer's run path leads into the build tree:\n${output}")
endif()
run(${consumer}/embed-fa4 ${SOURCE}/examples/embed-cmake/attention.mlir
  "func.func(attn-legalize,attn-select-schedule),convert-attn-to-tile,cse")
if(NOT output MATCHES "tile.kernel @forward_attn0" OR output MATCHES "attn.forward")
  message(FATAL_ERROR "unexpected output of embed-fa4:\n${output}")
endif()
# Installed tools and plugin find libMLIR.so without the build tree's help.
run(${prefix}/bin/fa4-opt --version)
message(STATUS "installed package: ok")
