// What a box says to the server over its line, when whatever is inside has taken over the box program: a whole message,
// or none.
#include <sys/socket.h>

#include "base/check.h"
#include "sandbox/packet_socket.h"
#include "tests/fuzz/pieces.h"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  auto pair = *sandbox::PacketSocket::make_pair();
  if (send(pair.theirs.get(), data, std::min<std::size_t>(size, 64 * 1024), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return 0;
  sandbox::Packet packet;
  if (!sandbox::PacketSocket::receive_at_once(pair.ours.get(), packet, 0)) return 0;
  SLUICE_CHECK(packet.payload.size() <= sandbox::box::payload_bytes_max);
  SLUICE_CHECK(packet.payload.size() <= size && packet.descriptors.empty());
  return 0;
}
