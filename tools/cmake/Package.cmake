# The CMake package of an installation, and its configs. Every path in it is seen from the package's own folder, so that an
# installation can be moved.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_BINARY_DIR}/package)
string(REGEX MATCH "^[0-9]+" compiler_major "${CMAKE_CXX_COMPILER_VERSION}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/headwrightConfig.cmake.in ${package_folder}/headwrightConfig.cmake @ONLY)
write_basic_package_version_file(${package_folder}/headwrightConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${package_folder}/headwrightConfig.cmake ${package_folder}/headwrightConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/Plugin.cmake
        DESTINATION lib/cmake/headwright)
install(DIRECTORY configs DESTINATION share/headwright FILES_MATCHING PATTERN *.yaml PATTERN schema.json)
