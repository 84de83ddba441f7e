// One end of a socket as the box program uses it: whole messages, blocking; and the reading of payloads.
#pragma once

#include <cstdarg>

#include "sandbox/box/protocol.h"

namespace sluice::sandbox::box {

struct Message {
  Head head;
  int descriptors[descriptors_max];
  int descriptor_count = 0;
  char* payload = nullptr;  // malloc'ed, with a 0 behind its last byte
};

enum class Received { message, end };

// Descriptors arrive closed-on-exec. Whatever is wrong with the line is its end.
Received receive(int line, Message& message);
void release(Message& message);  // the payload and all descriptors that were not taken (set to -1)

// False: the message is lost, and errno says why. Where the kernel only lacks memory, that is said after some seconds
// of trying again.
[[nodiscard]] bool send(int line, const Head& head, const int* descriptors = nullptr, int descriptor_count = 0,
                        const char* payload = nullptr, std::size_t payload_bytes = 0);

// The last words of a process that gives up. The server learns of its end all the same if they are lost.
void send_failure(int line, Head head, const char* why);

// Descriptors of which the server was sent only the numbers, and which it takes out of this process by itself.
struct Kept {
  int list[descriptors_max];
  int count = 0;
  void let_go();
};

// Hands descriptors to the server and closes them here. The kernel counts those under way by user, and takes no more
// when there are too many (ETOOMANYREFS), whichever process of that user sent them; then their numbers go instead, and
// they are added to `kept`. False: nothing was sent, and errno says why.
[[nodiscard]] bool hand_over(int line, Head head, const int* descriptors, int count, Kept& kept);

// Takes a payload apart. Past the end, or where a text would reach past it, everything is 0 and "".
class Reader final {
 public:
  Reader(const char* at, std::size_t bytes) : at_(at), end_(at + bytes) {}
  uint64_t number();
  // The bytes where they lie. In a payload each text is followed by a 0, so that it is a C string too.
  const char* text(std::size_t* bytes = nullptr);

 private:
  const char* at_;
  const char* end_;
};

// Why something failed, in words: "mount /proc: Operation not permitted".
struct Trouble {
  char what[512] = "";
  // False, so that a step can `return trouble.say("…")`. Adds the words for errno.
  __attribute__((format(printf, 2, 3))) bool say(const char* format, ...);
};

}  // namespace sluice::sandbox::box
