# The API reference (openapi/reference), made of openapi/openapi.yaml and packed into one file that becomes part of the
# program.

# sluice_reference_pack(SOURCE): compiles SOURCE with the pack's path as SLUICE_REFERENCE_PACK, and again when it changes.
function(sluice_reference_pack source)
  set(openapi ${CMAKE_SOURCE_DIR}/openapi)
  set(pack ${CMAKE_BINARY_DIR}/reference.pack)
  # Debian's own: another python3 on the PATH need not have the module yaml.
  add_custom_command(OUTPUT ${pack}
    COMMAND /usr/bin/python3 -B ${openapi}/reference/build.py ${openapi}/openapi.yaml ${pack}
    DEPENDS ${openapi}/openapi.yaml ${openapi}/reference/build.py ${openapi}/reference/schema.py
            ${openapi}/reference/words.py ${openapi}/reference/page.html ${openapi}/reference/page.css
            ${openapi}/reference/page.js
    COMMENT "Writing the API reference" VERBATIM)
  set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS SLUICE_REFERENCE_PACK="${pack}")
  set_property(SOURCE ${source} APPEND PROPERTY OBJECT_DEPENDS ${pack})
endfunction()
