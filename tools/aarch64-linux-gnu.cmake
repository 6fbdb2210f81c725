# Cross build for 64-bit Arm, tests under qemu:
#   cmake -B build-arm -DCMAKE_TOOLCHAIN_FILE=tools/aarch64-linux-gnu.cmake -DWICK_KERNELS_ONLY=ON
# Debian: apt-get install gcc-aarch64-linux-gnu qemu-user. Static, so that qemu needs no Arm system.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# This machine's own libraries are of another kind.
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
