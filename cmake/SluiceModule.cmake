# Compiler flags of all modules, and the functions that declare modules and tests.

add_library(sluice_flags INTERFACE)
target_include_directories(sluice_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
target_compile_options(sluice_flags INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
  -Wglobal-constructors -Wexit-time-destructors -Wno-missing-field-initializers
  # std::stable_sort of Debian 12's standard library uses a function that the same library deprecates.
  -Wno-deprecated-declarations)

if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  set(SLUICE_SANITIZED ON)
endif()

# GoogleTest's macros make global objects of their own. Tests are compiled far more often than they are run long, and
# optimizing them takes half of the time.
add_library(sluice_test_flags INTERFACE)
target_compile_options(sluice_test_flags INTERFACE -O0 -Wno-global-constructors -Wno-exit-time-destructors -Wno-gnu-zero-variadic-macro-arguments)

# The standard's headers and GoogleTest's are most of what a compiler reads, so they are read once. A source still
# includes what it uses (`./dev lint` compiles without these).
set(often
  <algorithm> <array> <atomic> <chrono> <coroutine> <cstdint> <deque> <filesystem> <functional> <map> <memory> <mutex>
  <optional> <set> <span> <sstream> <string> <string_view> <thread> <tuple> <unordered_map> <unordered_set> <utility>
  <variant> <vector>)
set(CMAKE_PCH_INSTANTIATE_TEMPLATES ON)
file(CONFIGURE OUTPUT often.cc CONTENT "")
add_library(sluice_often OBJECT ${CMAKE_BINARY_DIR}/often.cc)
target_link_libraries(sluice_often PRIVATE sluice_flags)
target_precompile_headers(sluice_often PRIVATE ${often})
# Without its time a precompiled header is the same bytes again, and ccache knows what was compiled with it.
target_compile_options(sluice_often PRIVATE "SHELL:-Xclang -fno-pch-timestamp")

# Most of what a compiler does is read headers: eight sources at once take little longer than one. So the unnamed
# namespace of a source is shared by its module, and every test has a namespace of its own.
option(SLUICE_JOINED "Compile several sources of a module at once" ON)
# Sanitizers are built from nothing more often than again after a change, so more tests are joined there.
if(SLUICE_SANITIZED)
  set(sluice_joined_tests 24)
else()
  set(sluice_joined_tests 8)
endif()

# Every program that tests need besides the server. They are no part of `all`, so that a build of the server alone does not
# wait for them.
add_custom_target(tests)

# sluice_module(NAME SOURCES a.cc … ALONE b.cc … DEPENDS module… LIBRARIES lib… TESTS a_test.cc … TEST_DEPENDS module…)
# ALONE: those of SOURCES that are never joined with others, because their private names are others' names too.
function(sluice_module name)
  cmake_parse_arguments(MODULE "" "" "SOURCES;ALONE;DEPENDS;LIBRARIES;TESTS;TEST_DEPENDS" ${ARGN})
  set_source_files_properties(${MODULE_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  list(TRANSFORM MODULE_DEPENDS PREPEND sluice_)
  list(TRANSFORM MODULE_TEST_DEPENDS PREPEND sluice_)
  if(MODULE_SOURCES)
    add_library(sluice_${name} STATIC ${MODULE_SOURCES})
    target_link_libraries(sluice_${name} PUBLIC sluice_flags ${MODULE_DEPENDS} ${MODULE_LIBRARIES})
    target_precompile_headers(sluice_${name} REUSE_FROM sluice_often)
    set_target_properties(sluice_${name} PROPERTIES UNITY_BUILD ${SLUICE_JOINED} UNITY_BUILD_BATCH_SIZE 8)
  else()
    add_library(sluice_${name} INTERFACE)
    target_link_libraries(sluice_${name} INTERFACE sluice_flags ${MODULE_DEPENDS} ${MODULE_LIBRARIES})
  endif()
  if(BUILD_TESTING AND MODULE_TESTS)
    sluice_test(${name}_test SOURCES ${MODULE_TESTS} DEPENDS ${name} LIBRARIES ${MODULE_TEST_DEPENDS})
  endif()
endfunction()

# sluice_test(NAME SOURCES … DEPENDS module… LIBRARIES lib… [TIMEOUT seconds]): one program of GoogleTest tests.
function(sluice_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 600)
  endif()
  if(NOT BUILD_TESTING)
    return()
  endif()
  if(NOT TARGET sluice_test_often)
    add_library(sluice_test_often OBJECT ${CMAKE_BINARY_DIR}/often.cc)
    target_link_libraries(sluice_test_often PRIVATE sluice_flags sluice_test_flags GTest::gtest)
    target_compile_options(sluice_test_often PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    target_precompile_headers(sluice_test_often PRIVATE ${often} <gtest/gtest.h>)
  endif()
  list(TRANSFORM TEST_DEPENDS PREPEND sluice_)
  add_executable(${name} EXCLUDE_FROM_ALL ${TEST_SOURCES})
  add_dependencies(tests ${name})
  target_link_libraries(${name} PRIVATE sluice_flags sluice_test_flags ${TEST_DEPENDS} ${TEST_LIBRARIES}
                                        GTest::gtest GTest::gtest_main)
  target_precompile_headers(${name} REUSE_FROM sluice_test_often)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${SLUICE_JOINED} UNITY_BUILD_BATCH_SIZE ${sluice_joined_tests})
  sluice_add_test(${name} LABEL unit TIMEOUT ${TEST_TIMEOUT} COMMAND $<TARGET_FILE:${name}>)
endfunction()

# sluice_add_test(NAME LABEL label TIMEOUT seconds [IN folder] COMMAND …): a test that runs our code. In a sanitizer's build
# it may take three times as long, and a report of any process fails it, whatever became of that process.
function(sluice_add_test name)
  cmake_parse_arguments(TEST "" "LABEL;TIMEOUT;IN" "COMMAND" ${ARGN})
  if(NOT TEST_IN)
    set(TEST_IN ${CMAKE_CURRENT_BINARY_DIR})
  endif()
  if(SLUICE_SANITIZED)
    list(PREPEND TEST_COMMAND /usr/bin/python3 -B ${CMAKE_SOURCE_DIR}/tests/process/sanitized.py ${CMAKE_BINARY_DIR}/reports/${name})
    math(EXPR TEST_TIMEOUT "3 * ${TEST_TIMEOUT}")
  endif()
  add_test(NAME ${name} COMMAND ${TEST_COMMAND} WORKING_DIRECTORY ${TEST_IN})
  set_tests_properties(${name} PROPERTIES LABELS ${TEST_LABEL} TIMEOUT ${TEST_TIMEOUT})
endfunction()
