# configure_again_when_found(FILE...): a build configures itself again once one of these files of a library is installed
# (or removed), so that a folder configured too early needn't be deleted. FILE is looked for in every library folder.
function(configure_again_when_found)
  set(patterns "")
  foreach(prefix IN LISTS CMAKE_PREFIX_PATH ITEMS /usr /usr/local /opt/homebrew)
    foreach(file IN LISTS ARGN)
      list(APPEND patterns "${prefix}/lib/${file}" "${prefix}/lib64/${file}" "${prefix}/lib/*/${file}" "${prefix}/share/${file}")
    endforeach()
  endforeach()
  file(GLOB found CONFIGURE_DEPENDS ${patterns})
endfunction()
