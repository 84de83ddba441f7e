# The console's pages (web/), packed into one file that becomes part of the program.

option(SLUICE_CONSOLE "Build the console's pages into the program; needs node and npm" ON)

# sluice_console_pack(SOURCE): compiles SOURCE with the pack's path as SLUICE_CONSOLE_PACK, and again when it changes.
function(sluice_console_pack source)
  if(NOT SLUICE_CONSOLE)
    return()
  endif()
  find_program(SLUICE_NODE node)
  if(NOT SLUICE_NODE)
    message(FATAL_ERROR "The console is built with node and npm, and there is no node on the PATH. Install them "
                        "(apt-get install nodejs npm), or configure with -DSLUICE_CONSOLE=OFF.")
  endif()
  set(web ${CMAKE_SOURCE_DIR}/web)
  set(cache ${CMAKE_SOURCE_DIR}/build/console)
  set(pack ${CMAKE_BINARY_DIR}/console.pack)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${web}/src/*)
  file(MAKE_DIRECTORY ${cache})
  # One at a time: build directories share the packages and the packs.
  add_custom_command(OUTPUT ${pack}
    COMMAND flock ${cache}/lock ${SLUICE_NODE} ${CMAKE_SOURCE_DIR}/cmake/console_pack.mjs ${web} ${cache} ${pack}
    COMMAND ${CMAKE_COMMAND} -E touch ${pack}
    DEPENDS ${sources} ${web}/build.mjs ${web}/package.json ${web}/package-lock.json ${web}/tsconfig.json
            ${CMAKE_SOURCE_DIR}/cmake/console_pack.mjs
    COMMENT "Packing the console" VERBATIM)
  set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS SLUICE_CONSOLE_PACK="${pack}")
  set_property(SOURCE ${source} APPEND PROPERTY OBJECT_DEPENDS ${pack})
endfunction()
