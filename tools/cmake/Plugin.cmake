# headwright_add_plugin(NAME FILE...): a plugin library NAME.so, sealed. The build and the installed package share it.

# Writes the checksum without which the runner refuses a library: headwright_seal_plugin(TARGET)
function(headwright_seal_plugin target)
  if(TARGET headwright_seal)
    set(seal headwright_seal)
  else()
    set(seal headwright::runner seal)
  endif()
  add_custom_command(TARGET ${target} POST_BUILD COMMAND ${seal} $<TARGET_FILE:${target}> VERBATIM)
  # An installation would write another RPATH into the sealed file, so it is written at once.
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
endfunction()

function(headwright_add_plugin name)
  if(NOT ARGN)
    message(FATAL_ERROR "headwright_add_plugin(${name}): no file is named, expected headwright_add_plugin(NAME FILE...)")
  endif()
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE headwright::headwright)
  set_target_properties(${name} PROPERTIES PREFIX "" CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden)
  headwright_seal_plugin(${name})
endfunction()
