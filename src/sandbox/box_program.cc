#include "sandbox/box_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>

#include <csignal>
#include <cstring>
#include <string>
#include <string_view>

#include "sandbox/packet_socket.h"

__asm__(
    ".section .rodata\n"
    "sluice_box_program_begin:\n"
    ".incbin \"" SLUICE_BOX_PROGRAM_FILE
    "\"\n"
    "sluice_box_program_end:\n"
    ".previous\n");
extern "C" const char sluice_box_program_begin[];
extern "C" const char sluice_box_program_end[];

namespace sluice::sandbox {
namespace {

Error failed(std::string_view doing, int error) {
  return {ErrorKind::unavailable, std::string(doing) + ": " + std::strerror(error)};
}

OwnedFd make_file_in_memory() {
  constexpr unsigned executable = 0x10;  // MFD_EXEC: asked for since Linux 6.3, unknown before
  OwnedFd file(memfd_create("sluice-box", MFD_CLOEXEC | executable));
  if (!file) file = OwnedFd(memfd_create("sluice-box", MFD_CLOEXEC));
  const std::string_view bytes(sluice_box_program_begin,
                               static_cast<std::size_t>(sluice_box_program_end - sluice_box_program_begin));
  if (!file || write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return {};
  return file;
}

}  // namespace

Result<StartedProgram> start_box_program(std::string face) {
  const OwnedFd file = make_file_in_memory();
  if (!file) return failed("keep the box program in memory", errno);
  auto made = PacketSocket::make_pair();
  if (!made) return failed("make a socket to the box program", errno);
  PacketSocket::Pair socket = *std::move(made);
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  std::string name = "sluice-box";
  char* arguments[] = {name.data(), face.empty() ? nullptr : face.data(), nullptr};
  char* environment[] = {nullptr};

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&actions, 0, 1);
  posix_spawn_file_actions_adddup2(&actions, 0, 2);
  posix_spawn_file_actions_adddup2(&actions, socket.theirs.get(), box::server_descriptor);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigdefault(&attributes, &all);  // what we ignore, commands must not ignore
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  StartedProgram started;
  const int error = posix_spawn(&started.process, path.c_str(), &actions, &attributes, arguments, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return failed("start the box program", error);
  started.socket = std::move(socket.ours);
  return started;
}

}  // namespace sluice::sandbox
