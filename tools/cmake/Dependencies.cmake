# Every library that headwright stands on, and why it is the one.

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "gcc ${CMAKE_CXX_COMPILER_VERSION}: C++20 as used here needs 12 or newer; name another with -DCMAKE_CXX_COMPILER")
endif()

# ccache and mold only save time; the build is the same without them.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # A precompiled header is compared by its content, not by the time it was written.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_link_options(-fuse-ld=mold)
endif()

# torch: the tensors. The CPU wheel in .venv, unless Torch_DIR or CMAKE_PREFIX_PATH names another libtorch.
# tools/dev reads the version from this line.
set(HEADWRIGHT_TORCH_NEEDED 2.13.0)
file(GLOB venv_torch ${CMAKE_SOURCE_DIR}/.venv/lib/python3.*/site-packages/torch)
set(CMAKE_MESSAGE_LOG_LEVEL ERROR)  # torch warns of static libraries (kineto) that its own shared one contains
find_package(Torch ${HEADWRIGHT_TORCH_NEEDED} QUIET HINTS ${venv_torch})
unset(CMAKE_MESSAGE_LOG_LEVEL)
if(NOT Torch_FOUND)
  set(refused "none")
  foreach(config version IN ZIP_LISTS Torch_CONSIDERED_CONFIGS Torch_CONSIDERED_VERSIONS)
    string(APPEND refusals "\n  ${config}: libtorch ${version}")
  endforeach()
  if(refusals)
    set(refused "only${refusals}\n  (Debian's own libtorch-dev is 1.13, which is too old)")
  endif()
  message(FATAL_ERROR
    "libtorch ${HEADWRIGHT_TORCH_NEEDED} or newer: found ${refused}\n"
    "Run 'tools/dev setup', which installs the wheel into .venv, or set Torch_DIR or CMAKE_PREFIX_PATH.")
endif()
# torch's own targets link with --no-as-needed, so that the libraries of devices stay and register themselves.

find_package(Boost 1.74 REQUIRED)            # Boost.DLL: shared libraries by path on every system
find_package(yaml-cpp 0.7 REQUIRED)          # YAML events with positions
find_package(spdlog 1.10 REQUIRED)           # logging with levels and sinks
find_package(CLI11 2.1 REQUIRED)             # command lines with subcommands
find_package(nlohmann_json 3.11 REQUIRED)    # JSON with ordered keys and a SAX reader
find_package(OpenSSL REQUIRED COMPONENTS Crypto)  # SHA-256
find_package(Threads REQUIRED)
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)   # the seal of a plugin library; used as a header alone
if(HEADWRIGHT_TESTS)
  find_package(GTest 1.12 REQUIRED)
endif()
