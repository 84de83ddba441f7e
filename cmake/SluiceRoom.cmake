# What every room is built with, and how a room is declared.

add_library(sluice_flags INTERFACE)
target_include_directories(sluice_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
target_compile_options(sluice_flags INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
  -Wglobal-constructors -Wexit-time-destructors -Wno-missing-field-initializers)

# GoogleTest's macros make global objects of their own.
add_library(sluice_test_flags INTERFACE)
target_compile_options(sluice_test_flags INTERFACE -Wno-global-constructors -Wno-exit-time-destructors -Wno-gnu-zero-variadic-macro-arguments)

# sluice_room(NAME SOURCES a.cc … DEPENDS room… LIBRARIES lib… TESTS a_test.cc … TEST_DEPENDS room…)
function(sluice_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;DEPENDS;LIBRARIES;TESTS;TEST_DEPENDS" ${ARGN})
  list(TRANSFORM ROOM_DEPENDS PREPEND sluice_)
  list(TRANSFORM ROOM_TEST_DEPENDS PREPEND sluice_)
  if(ROOM_SOURCES)
    add_library(sluice_${name} STATIC ${ROOM_SOURCES})
    target_link_libraries(sluice_${name} PUBLIC sluice_flags ${ROOM_DEPENDS} ${ROOM_LIBRARIES})
  else()
    add_library(sluice_${name} INTERFACE)
    target_link_libraries(sluice_${name} INTERFACE sluice_flags ${ROOM_DEPENDS} ${ROOM_LIBRARIES})
  endif()
  if(BUILD_TESTING AND ROOM_TESTS)
    sluice_test(${name}_test SOURCES ${ROOM_TESTS} DEPENDS ${name} LIBRARIES ${ROOM_TEST_DEPENDS})
  endif()
endfunction()

# sluice_test(NAME SOURCES … DEPENDS room… LIBRARIES lib…): one program of GoogleTest tests.
function(sluice_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  if(NOT BUILD_TESTING)
    return()
  endif()
  list(TRANSFORM TEST_DEPENDS PREPEND sluice_)
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE sluice_flags sluice_test_flags ${TEST_DEPENDS} ${TEST_LIBRARIES}
                                        GTest::gtest GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS room)
endfunction()
