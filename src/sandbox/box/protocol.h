// The messages between the server and the box program, over SEQPACKET sockets: a Head, then the
// payload, with descriptors by SCM_RIGHTS. Both ends are of one build, so there are no versions.
//
//   server ── prepare, build, remove_groups ──▶ zygote      one socket for all
//          ◀── prepared, built, build_failed, groups_removed ──
//   server ── claim, start, signal, freeze ──▶ init        one socket a sandbox
//          ◀── ready, claimed, failed, not_started, exited ──
//
// A payload is numbers (8 bytes each, this machine's order) and texts (a number, then so many bytes).
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::sandbox::box {

enum class Verb : uint32_t {
  // To the zygote. prepare: payload is Prepare's fields; descriptors are the seccomp filter, then a
  // directory for each controller. build: number, payload; descriptor is the new init's end of its
  // socket. remove_groups: `a` is the slot whose groups are to be removed.
  prepare = 1,
  build,
  remove_groups,
  // From the zygote. built: number, `a` the process, `b` the slot; descriptor is a pidfd.
  // prepared: `a` is 1 where each sandbox has a user of its own; else the first `b` bytes of the payload say why not.
  // The
  // rest of it says what sandboxes share of their root; empty: nothing. build_failed: number, payload says why.
  // groups_removed: `a`
  // is the slot.
  prepared,
  built,
  build_failed,
  groups_removed,
  // To an init. claim: payload is steps and layers. start: number, payload; descriptors are its
  // standard input, output and error. signal: number, `a`, to the command's process group. freeze: `a` is 1 for all
  // processes but the init itself to stop, 0 for them to continue.
  claim,
  start,
  signal,
  freeze,
  // From an init. ready: `a` is how many of the last descriptors are listeners, of egress_port and of bridge_port;
  // under an OCI runtime the first is a pidfd. claimed: descriptors are the workspace and its changes. Either
  // may come with `numbered_count` instead of descriptors. failed: payload says why.
  // not_started: number, `a` is errno, `b` a Stumble. exited: number, `a` is the status of wait(2),
  // `b` microseconds of processor, `c` most bytes of memory.
  ready,
  claimed,
  failed,
  not_started,
  exited,
};

// Where a command's start went wrong.
enum class Stumble : int64_t { fork, directory, program };

struct Head {
  Verb verb{};
  uint32_t number = 0;  // of the sandbox (to and from the zygote) or of the command
  int64_t a = 0;
  int64_t b = 0;
  int64_t c = 0;
  uint32_t payload_bytes = 0;
  uint32_t payload_is_apart = 0;  // 1: it is in a memfd, which is the last descriptor
  // How many numbers of descriptors the payload has, where the kernel refused the descriptors themselves. They stay
  // open in the sender until the next order that comes after "claimed", so that the server can take them by its pidfd.
  uint32_t numbered_count = 0;
  uint32_t reserved = 0;
};

inline constexpr std::size_t inline_bytes_max = 32 * 1024;
inline constexpr std::size_t payload_bytes_max = 64 * 1024 * 1024;
inline constexpr int descriptors_max = 8;

// The descriptor of the box program on which its server speaks.
inline constexpr int server_descriptor = 3;

// Ports on the sandbox's own loopback that the server listens on. The same as sandbox::egress_port and bridge_port.
inline constexpr int egress_port = 3128;
inline constexpr int bridge_port = 3129;
inline constexpr int listener_count = 2;

// A step of a plan; the same numbers as MountKind.
enum class Act : uint8_t { bind, tmpfs, proc, devpts, directory, link, file, mask, read_only };
inline constexpr uint64_t act_read_only = 1;
inline constexpr uint64_t act_nosuid = 2;
inline constexpr uint64_t act_nodev = 4;
inline constexpr uint64_t act_noexec = 8;

}  // namespace sluice::sandbox::box
