#include "sandbox/box/listeners.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sluice::sandbox::box {

namespace {

int listen_on(int port, Trouble& trouble) {
  constexpr int waiting_max = 256;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // No SO_REUSEADDR, no SO_REUSEPORT: no process inside can listen here too.
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener >= 0 && bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      listen(listener, waiting_max) == 0) {
    return listener;
  }
  trouble.say("listen on 127.0.0.1:%d in the box", port);
  if (listener >= 0) close(listener);
  return -1;
}

}  // namespace

bool open_listeners(int (&listeners)[listener_count], Trouble& trouble) {
  listeners[0] = listen_on(egress_port, trouble);
  if (listeners[0] < 0) return false;
  listeners[1] = listen_on(bridge_port, trouble);
  if (listeners[1] >= 0) return true;
  close(listeners[0]);
  return false;
}

}  // namespace sluice::sandbox::box
