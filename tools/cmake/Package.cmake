# The CMake package of an installation, its configs, documents and examples. Every path in it is seen from the package's
# own folder, so that an installation can be moved; the one exception is torch, which LIBTORCH.md tells of.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_BINARY_DIR}/package)
string(REGEX MATCH "^[0-9]+" compiler_major "${CMAKE_CXX_COMPILER_VERSION}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/headwrightConfig.cmake.in ${package_folder}/headwrightConfig.cmake @ONLY)
write_basic_package_version_file(${package_folder}/headwrightConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${package_folder}/headwrightConfig.cmake ${package_folder}/headwrightConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/Plugin.cmake
        DESTINATION lib/cmake/headwright)

# As in the repository, so that what refers to another file finds it: README.md, configs, and the shipped variants as examples.
install(FILES README.md DESTINATION share/headwright)
install(FILES framework/README.md DESTINATION share/headwright/framework)
install(DIRECTORY configs DESTINATION share/headwright FILES_MATCHING PATTERN *.yaml PATTERN *.md PATTERN schema.json)
install(DIRECTORY plugins DESTINATION share/headwright FILES_MATCHING PATTERN *.cpp PATTERN *.md)
configure_file(${CMAKE_CURRENT_LIST_DIR}/LIBTORCH.md.in ${package_folder}/LIBTORCH.md @ONLY)
install(FILES ${package_folder}/LIBTORCH.md DESTINATION share/headwright)
install(CODE "message(STATUS \"headwright takes libtorch ${Torch_VERSION} from ${TORCH_INSTALL_PREFIX}/lib, where it has to stay\")")
