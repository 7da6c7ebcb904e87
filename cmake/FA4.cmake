# The few functions every CMakeLists.txt of this project uses.

# One precompiled header for all MLIR-facing translation units: MLIR's headers
# are most of the compile time. NVVM is left out on purpose, it triples the cost.
set(FA4_PCH_HEADERS
  mlir/IR/Builders.h mlir/IR/BuiltinOps.h mlir/IR/BuiltinTypes.h mlir/IR/OpImplementation.h
  mlir/IR/PatternMatch.h mlir/Pass/Pass.h mlir/Interfaces/SideEffectInterfaces.h
  mlir/Dialect/Arith/IR/Arith.h mlir/Dialect/Math/IR/Math.h mlir/Dialect/Func/IR/FuncOps.h
  mlir/Dialect/SCF/IR/SCF.h mlir/Transforms/DialectConversion.h
  mlir/Transforms/GreedyPatternRewriteDriver.h llvm/ADT/TypeSwitch.h)
list(TRANSFORM FA4_PCH_HEADERS REPLACE "(.+)" "<\\1>")

function(fa4_private_compile_options target)
  # Debian's LLVM is built with RTTI, so ours is on too; exceptions never cross MLIR frames.
  target_compile_options(${target} PRIVATE -fno-exceptions -Wno-unused-parameter)
endfunction()

function(fa4_use_pch target)
  if(NOT TARGET fa4-pch)
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/fa4-pch.cpp CONTENT "// Carries the precompiled header.\n")
    add_library(fa4-pch OBJECT ${PROJECT_BINARY_DIR}/fa4-pch.cpp)
    fa4_private_compile_options(fa4-pch)
    target_precompile_headers(fa4-pch PRIVATE ${FA4_PCH_HEADERS})
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      # Without it ccache never hits: the PCH would carry the header's mtime.
      target_compile_options(fa4-pch PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    endif()
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  target_precompile_headers(${target} REUSE_FROM fa4-pch)
endfunction()

# fa4_add_mlir_library(NAME sources... [DEPENDS tablegen-targets...])
# A part of libFA4, as objects: one shared library holds all dialects and
# passes, so that tools and plugin share one set of TypeIDs.
function(fa4_add_mlir_library name)
  cmake_parse_arguments(arg "" "" "DEPENDS" ${ARGN})
  add_library(${name} OBJECT ${arg_UNPARSED_ARGUMENTS})
  add_dependencies(${name} fa4-headers ${arg_DEPENDS})
  fa4_private_compile_options(${name})
  fa4_use_pch(${name})
  set_property(GLOBAL APPEND PROPERTY FA4_OBJECT_LIBRARIES ${name})
endfunction()

# fa4_add_library(NAME sources... [LINK libs...]): a static library without MLIR.
function(fa4_add_library name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  fa4_private_compile_options(${name})
  target_link_libraries(${name} PUBLIC ${arg_LINK})
endfunction()

# fa4_add_tool(NAME sources... [LINK libs...])
function(fa4_add_tool name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  add_dependencies(${name} fa4-headers)
  fa4_private_compile_options(${name})
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# fa4_add_unittest(NAME sources... [LINK libs...]): part of check-fa4-unit.
function(fa4_add_unittest name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${arg_UNPARSED_ARGUMENTS})
  add_dependencies(${name} fa4-headers)
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/unittests)
  set_property(GLOBAL APPEND PROPERTY FA4_UNIT_TESTS ${name})
endfunction()

# fa4_install_library(NAME): installs and exports it, with its headers' folder.
function(fa4_install_library name)
  target_include_directories(${name} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  install(TARGETS ${name} EXPORT FA4Targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# fa4_install_package(): headers, generated headers and the CMake package.
function(fa4_install_package)
  include(CMakePackageConfigHelpers)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/FA4)
  foreach(tree ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
    install(DIRECTORY ${tree}/include/fa4 DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING
      PATTERN "*.h" PATTERN "*.inc" PATTERN "*.td" PATTERN "CMakeFiles" EXCLUDE)
  endforeach()
  install(EXPORT FA4Targets NAMESPACE FA4:: DESTINATION ${package})
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/FA4Config.cmake.in
    ${PROJECT_BINARY_DIR}/FA4Config.cmake INSTALL_DESTINATION ${package})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/FA4ConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/FA4Config.cmake ${PROJECT_BINARY_DIR}/FA4ConfigVersion.cmake
    DESTINATION ${package})
endfunction()
