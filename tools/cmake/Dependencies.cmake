# Every library that headwright stands on, and why it is the one.

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
file(GLOB venv_torch ${CMAKE_SOURCE_DIR}/.venv/lib/python3.*/site-packages/torch)
find_package(Torch QUIET HINTS ${venv_torch})
if(NOT Torch_FOUND)
  message(FATAL_ERROR "no libtorch found; run 'tools/dev setup', or set Torch_DIR or CMAKE_PREFIX_PATH to a libtorch 2.13")
endif()
set(HEADWRIGHT_TORCH_NEEDED 2.13.0)
if(Torch_VERSION VERSION_LESS HEADWRIGHT_TORCH_NEEDED)
  message(FATAL_ERROR
    "${Torch_DIR}: libtorch ${Torch_VERSION}, expected ${HEADWRIGHT_TORCH_NEEDED} or newer; "
    "Debian's libtorch-dev (1.13) is too old: run 'tools/dev setup', which installs the wheel into .venv")
endif()

find_package(Boost 1.74 REQUIRED)            # Boost.DLL: shared libraries by path on every system
find_package(yaml-cpp 0.7 REQUIRED)          # YAML events with positions
find_package(spdlog 1.10 REQUIRED)           # logging with levels and sinks
find_package(CLI11 2.1 REQUIRED)             # command lines with subcommands
find_package(nlohmann_json 3.11 REQUIRED)    # JSON with ordered keys and a SAX reader
find_package(OpenSSL REQUIRED COMPONENTS Crypto)  # SHA-256
find_package(Threads REQUIRED)
if(HEADWRIGHT_TESTS)
  find_package(GTest 1.12 REQUIRED)
endif()
