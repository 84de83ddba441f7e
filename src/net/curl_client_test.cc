// The client against a server that does exactly what a test tells it to, over loopback.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <semaphore>
#include <thread>

#include "net/net.h"

namespace sluice::net {
namespace curl_client_test {

// Takes connections one after another, on a thread of its own with blocking sockets.
class ScriptedServer {
 public:
  // One connection: what the script reads and writes.
  class Peer {
   public:
    explicit Peer(int fd) : fd_(fd) {
      const timeval deadline{.tv_sec = 10};
      setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline);
      setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &deadline, sizeof deadline);
    }
    ~Peer() { close(fd_); }

    // A whole request; empty when the client has left.
    std::string read_request() {
      while (true) {
        const auto head_end = input_.find("\r\n\r\n");
        if (head_end != input_.npos && input_.size() >= head_end + 4 + body_size()) {
          return std::exchange(input_, {});
        }
        char bytes[16 * 1024];
        const ssize_t count = recv(fd_, bytes, sizeof bytes, 0);
        if (count <= 0) return {};
        input_.append(bytes, static_cast<std::size_t>(count));
      }
    }
    void send(std::string_view bytes) {
      while (!bytes.empty()) {
        const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count <= 0) return;
        bytes.remove_prefix(static_cast<std::size_t>(count));
      }
    }
    void wait_until_client_leaves() { read_request(); }
    void reset() {
      const linger now{.l_onoff = 1, .l_linger = 0};
      setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    }

   private:
    std::size_t body_size() const {
      std::size_t size = 0;
      const auto at = input_.find("Content-Length: ");
      if (at != input_.npos) std::from_chars(input_.data() + at + 16, input_.data() + input_.size(), size);
      return size;
    }
    const int fd_;
    std::string input_;
  };

  using Script = std::function<void(Peer&)>;

  explicit ScriptedServer(Script script) : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    socklen_t size = sizeof address;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, script = std::move(script)] {
      while (true) {
        const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0) return;
        ++connection_count_;
        Peer peer(fd);
        script(peer);
      }
    });
  }
  ~ScriptedServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }

  std::string url(std::string_view path = "/") const {
    return "http://127.0.0.1:" + std::to_string(port_) + std::string(path);
  }
  int connection_count() const { return connection_count_; }

 private:
  const int listener_;
  int port_ = 0;
  std::atomic<int> connection_count_ = 0;
  std::thread thread_;
};

struct Heard final : CallListener {
  int status = 0;
  Headers headers;
  std::string body;
  int piece_count = 0;
  std::optional<CallEnd> end;
  std::function<void()> after_head, after_piece, after_end;

  void on_head(int got, const Headers& fields) override {
    status = got;
    headers = fields;
    if (after_head) after_head();
  }
  void on_body(std::string_view bytes) override {
    body += bytes;
    ++piece_count;
    if (after_piece) after_piece();
  }
  void on_end(CallEnd how) override {
    end = std::move(how);
    if (after_end) after_end();
  }
};

class CurlClient : public testing::Test {
 protected:
  CurlClient() {
    for (const char* name : {"http_proxy", "https_proxy", "no_proxy", "NO_PROXY", "all_proxy"}) unsetenv(name);
    reactor = make_reactor_or_die();
    client = make({});
    heard.after_end = [this] { reactor->stop(); };
  }

  static std::unique_ptr<world::Reactor> make_reactor_or_die() {
    auto made = world::make_reactor();
    SLUICE_CHECK(bool(made));
    return std::move(made).take();
  }
  std::unique_ptr<Client> make(ClientOptions options) {
    auto made = make_client(*reactor, std::move(options));
    SLUICE_CHECK(bool(made));
    return std::move(made).take();
  }
  // Until something stops it; a test that would hang fails instead.
  void run() {
    const auto guard = reactor->after(Millis{20'000}, [this] {
      ADD_FAILURE() << "nothing happened for too long";
      reactor->stop();
    });
    reactor->run();
  }
  void run_call(ClientRequest request) {
    heard.end.reset();
    call = client->call(std::move(request), heard);
    EXPECT_FALSE(heard.end) << "no callback comes from inside call()";
    run();
  }

  std::unique_ptr<world::Reactor> reactor;
  std::unique_ptr<Client> client;
  Heard heard;
  std::unique_ptr<Call> call;
};

constexpr std::string_view hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Kind: a\r\n\r\nhello";

TEST_F(CurlClient, A_request_is_sent_as_given_and_the_whole_answer_arrives) {
  std::string request;
  ScriptedServer server([&](ScriptedServer::Peer& peer) {
    request = peer.read_request();
    peer.send(hello);
  });
  run_call(
      {.method = "PATCH", .url = server.url("/a?b=c"), .headers = {{"X-One", "1"}, {"X-None", ""}}, .body = "body"});
  EXPECT_EQ(heard.status, 200);
  EXPECT_EQ(heard.body, "hello");
  EXPECT_EQ(heard.headers.find("x-kind"), "a");
  ASSERT_TRUE(heard.end);
  EXPECT_FALSE(heard.end->failure);
  EXPECT_TRUE(request.starts_with("PATCH /a?b=c HTTP/1.1\r\n")) << request;
  EXPECT_TRUE(request.ends_with("\r\n\r\nbody"));
  EXPECT_NE(request.find("X-One: 1\r\n"), request.npos);
  EXPECT_NE(request.find("X-None:"), request.npos);
  EXPECT_EQ(request.find("Expect"), request.npos);
  EXPECT_EQ(request.find("Content-Type"), request.npos);
}

// curl knows where such a name leads, without a resolver.
std::string by_name(std::string url) { return url.replace(url.find("127.0.0.1"), 9, "some.localhost"); }

TEST_F(CurlClient, I_17_does_not_connect_to_this_machine_where_only_public_addresses_are_allowed) {
  ScriptedServer server([](ScriptedServer::Peer& peer) {
    peer.read_request();
    peer.send(hello);
  });
  const std::string port = server.url("").substr(server.url("").rfind(':'));
  for (const auto& url :
       {server.url(), by_name(server.url()), "http://2130706433" + port, "http://[::ffff:127.0.0.1]" + port,
        "http://localhost" + port, std::string("http://169.254.169.254/latest"), "http://0.0.0.0" + port}) {
    run_call({.url = url, .public_addresses_only = true});
    ASSERT_TRUE(heard.end->failure) << url;
    EXPECT_EQ(*heard.end->failure, CallFailure::refused) << url << heard.end->what;
    EXPECT_NE(heard.end->what.find(" leads to "), std::string::npos) << heard.end->what;
  }
  EXPECT_EQ(server.connection_count(), 0);
  run_call({.url = by_name(server.url())});
  EXPECT_EQ(heard.body, "hello") << "who is named may be anywhere";
}

TEST_F(CurlClient, I_17_a_connection_that_another_call_opened_leads_past_no_rule) {
  std::atomic<int> request_count = 0;
  ScriptedServer server([&](ScriptedServer::Peer& peer) {
    while (!peer.read_request().empty()) {
      ++request_count;
      peer.send(hello);
    }
  });
  run_call({.url = by_name(server.url())});
  EXPECT_EQ(heard.status, 200);
  heard.status = 0;
  run_call({.url = by_name(server.url()), .public_addresses_only = true});
  EXPECT_EQ(heard.end->failure, CallFailure::refused);
  EXPECT_EQ(heard.status, 0);
  run_call({.url = by_name(server.url())});
  EXPECT_EQ(heard.status, 200);
  EXPECT_EQ(request_count, 2);
  call.reset();
  client.reset();  // or the server waits for more on its connection
}

TEST_F(CurlClient, Behind_a_proxy_addresses_of_this_machine_are_refused_and_names_are_the_proxys) {
  std::string request;
  ScriptedServer proxy([&](ScriptedServer::Peer& peer) {
    request = peer.read_request();
    peer.send(hello);
  });
  client = make({.proxy = proxy.url("")});
  for (const char* const url : {"http://127.0.0.1/", "http://localhost/", "http://a.localhost/", "http://10.0.0.1/"}) {
    run_call({.url = url, .public_addresses_only = true});
    EXPECT_EQ(heard.end->failure, CallFailure::refused) << url;
  }
  EXPECT_EQ(proxy.connection_count(), 0);
  run_call({.url = "http://tools.example/", .public_addresses_only = true});
  EXPECT_EQ(heard.body, "hello");
  EXPECT_TRUE(request.starts_with("GET http://tools.example/ HTTP/1.1")) << request;
}

TEST(UrlRules, Hosts_that_only_the_star_allows_are_called_at_public_addresses_only) {
  const std::vector<std::string> rules = {"*", "http://127.0.0.1:9/a"};
  EXPECT_EQ(reach_of("http://127.0.0.1:9/a/b", rules), Reach::anywhere);
  EXPECT_EQ(reach_of("http://127.0.0.1:9/b", rules), Reach::public_addresses);
  EXPECT_EQ(reach_of("https://models.example", rules), Reach::public_addresses);
  EXPECT_EQ(reach_of("https://models.example", std::vector<std::string>{"https://other.example"}), Reach::nowhere);
}

TEST_F(CurlClient, Each_piece_of_an_answer_arrives_when_it_was_sent) {
  std::binary_semaphore piece_heard(0);
  ScriptedServer server([&](ScriptedServer::Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (const char* piece : {"3\r\none\r\n", "3\r\ntwo\r\n", "5\r\nthree\r\n"}) {
      peer.send(piece);
      // The next piece is only sent when this one has been heard: buffering would stop here.
      if (!piece_heard.try_acquire_for(std::chrono::seconds(60))) return;
    }
    peer.send("0\r\n\r\n");
  });
  heard.after_piece = [&] { piece_heard.release(); };
  run_call({.url = server.url()});
  EXPECT_EQ(heard.body, "onetwothree");
  EXPECT_EQ(heard.piece_count, 3);
  ASSERT_TRUE(heard.end);
  EXPECT_FALSE(heard.end->failure) << heard.end->what;
}

TEST_F(CurlClient, Ignores_interim_heads_and_trailers_and_follows_no_redirect) {
  ScriptedServer server([](ScriptedServer::Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\n");
    peer.send("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Late: 1\r\n\r\n");
  });
  int heads = 0;
  heard.after_head = [&] { ++heads; };
  run_call({.url = server.url()});
  EXPECT_EQ(heads, 1);
  EXPECT_EQ(heard.status, 302);
  EXPECT_EQ(heard.headers.find("location"), "/elsewhere");
  EXPECT_FALSE(heard.headers.find("x-early"));
  EXPECT_FALSE(heard.headers.find("x-late"));
}

TEST_F(CurlClient, A_big_body_arrives_whole) {
  const std::string big(8'000'000, 'x');
  ScriptedServer server([&](ScriptedServer::Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 8000000\r\n\r\n");
    peer.send(big);
  });
  run_call({.method = "POST", .url = server.url(), .body = std::string(1'000'000, 'y')});
  EXPECT_TRUE(heard.body == big);
}

TEST_F(CurlClient, Uses_a_connection_again) {
  ScriptedServer server([](ScriptedServer::Peer& peer) {
    while (!peer.read_request().empty()) peer.send(hello);
  });
  run_call({.url = server.url()});
  run_call({.url = server.url()});
  EXPECT_EQ(heard.body, "hellohello");
  EXPECT_EQ(server.connection_count(), 1);
  call.reset();
  client.reset();  // lets the server's thread end
}

TEST_F(CurlClient, Calls_an_answer_that_breaks_off_cut) {
  for (const std::string_view sent : {"", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhal",
                                      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhal\r\n"}) {
    for (const bool is_reset : {false, true}) {
      ScriptedServer server([&](ScriptedServer::Peer& peer) {
        peer.read_request();
        peer.send(sent);
        if (is_reset) peer.reset();
      });
      run_call({.url = server.url()});
      ASSERT_TRUE(heard.end);
      EXPECT_EQ(heard.end->failure, CallFailure::cut) << heard.end->what;
      EXPECT_FALSE(heard.end->what.empty());
    }
  }
}

TEST_F(CurlClient, Times_out_when_the_head_or_the_next_piece_does_not_come) {
  for (const std::string_view sent : {"", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhal"}) {
    ScriptedServer server([&](ScriptedServer::Peer& peer) {
      peer.read_request();
      peer.send(sent);
      peer.wait_until_client_leaves();
    });
    run_call({.url = server.url(), .idle_ms_max = 60});
    ASSERT_TRUE(heard.end);
    EXPECT_EQ(heard.end->failure, CallFailure::timed_out) << heard.end->what;
  }
}

TEST_F(CurlClient, Times_out_as_a_whole_although_pieces_keep_coming) {
  std::counting_semaphore<1000> piece_heard(0);
  std::atomic<bool> is_over = false;
  ScriptedServer server([&](ScriptedServer::Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\n\r\n");
    do {
      peer.send("x");
    } while (piece_heard.try_acquire_for(std::chrono::seconds(60)) && !is_over);
  });
  // Each piece asks for the next one, a little later.
  world::Timer later;
  heard.after_piece = [&] { later = reactor->after(Millis{5}, [&] { piece_heard.release(); }); };
  run_call({.url = server.url(), .idle_ms_max = 10'000, .total_ms_max = 500});
  is_over = true;
  piece_heard.release();
  ASSERT_TRUE(heard.end);
  EXPECT_EQ(heard.end->failure, CallFailure::timed_out) << heard.end->what;
  EXPECT_GT(heard.piece_count, 1);
}

TEST_F(CurlClient, A_closed_port_and_an_unknown_name_are_unreachable) {
  std::string url;
  {
    const ScriptedServer gone([](ScriptedServer::Peer&) {});
    url = gone.url();
  }
  for (const std::string& target : {url, std::string("http://absent.invalid/")}) {
    run_call({.url = target});
    ASSERT_TRUE(heard.end);
    EXPECT_EQ(heard.end->failure, CallFailure::unreachable) << heard.end->what;
  }
}

TEST_F(CurlClient, Says_unreachable_when_the_peer_does_not_speak_TLS) {
  ScriptedServer server([](ScriptedServer::Peer& peer) { peer.send("HTTP/1.1 400 Bad Request\r\n\r\n"); });
  run_call({.url = "https" + server.url().substr(4)});
  ASSERT_TRUE(heard.end);
  EXPECT_EQ(heard.end->failure, CallFailure::unreachable) << heard.end->what;
}

TEST_F(CurlClient, Refuses_what_is_not_HTTP_and_what_would_smuggle_a_header) {
  const ClientRequest requests[] = {{.url = "ftp://127.0.0.1/"},
                                    {.url = "file:///etc/passwd"},
                                    {.url = "http://"},
                                    {.url = "http://127.0.0.1/\r\nX: y"},
                                    {.url = "http://127.0.0.1/", .headers = {{"X", "a\r\nY: b"}}}};
  for (const auto& request : requests) {
    run_call(request);
    ASSERT_TRUE(heard.end);
    EXPECT_EQ(heard.end->failure, CallFailure::refused) << request.url << ": " << heard.end->what;
  }
}

TEST_F(CurlClient, Says_nothing_of_the_credentials_in_a_URL) {
  run_call({.url = "ftp://user:s3cret@127.0.0.1/"});
  ASSERT_TRUE(heard.end);
  EXPECT_EQ(heard.end->what.find("s3cret"), std::string::npos) << heard.end->what;
}

TEST_F(CurlClient, No_callback_follows_after_a_call_was_dropped_inside_one) {
  ScriptedServer server([](ScriptedServer::Peer& peer) {
    peer.read_request();
    peer.send(hello);
  });
  for (auto* where : {&heard.after_head, &heard.after_piece, &heard.after_end}) {
    heard = {};
    *where = [this] {
      call.reset();
      // Long enough after for anything that would still come.
      reactor->post([this] { reactor->stop(); });
    };
    call = client->call({.url = server.url()}, heard);
    run();
    EXPECT_EQ(call, nullptr);
    EXPECT_EQ(heard.body.empty(), where == &heard.after_head);
    EXPECT_EQ(heard.end.has_value(), where == &heard.after_end);
  }
}

TEST_F(CurlClient, Lets_a_callback_start_the_next_call) {
  ScriptedServer server([](ScriptedServer::Peer& peer) {
    peer.read_request();
    peer.send(hello);
  });
  Heard second;
  second.after_end = [this] { reactor->stop(); };
  heard.after_end = nullptr;
  heard.after_piece = [&] { call = client->call({.url = server.url()}, second); };
  call = client->call({.url = server.url()}, heard);
  run();
  EXPECT_EQ(second.body, "hello");
  EXPECT_FALSE(heard.end) << "it was replaced, and so dropped";
}

TEST_F(CurlClient, Asks_a_proxy_with_the_whole_URL) {
  std::string request;
  ScriptedServer proxy([&](ScriptedServer::Peer& peer) {
    request = peer.read_request();
    peer.send(hello);
  });
  client = make({.proxy = proxy.url("")});
  run_call({.url = "http://model.invalid/v1/x"});
  EXPECT_TRUE(request.starts_with("GET http://model.invalid/v1/x HTTP/1.1\r\n")) << request;
  EXPECT_EQ(heard.body, "hello");
  call.reset();
  client.reset();
}

TEST_F(CurlClient, Says_unreachable_when_the_proxy_opens_no_tunnel) {
  ScriptedServer proxy([](ScriptedServer::Peer& peer) {
    EXPECT_TRUE(peer.read_request().starts_with("CONNECT model.invalid:443 HTTP/1.1\r\n"));
    peer.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
  });
  client = make({.proxy = proxy.url("")});
  run_call({.url = "https://model.invalid/"});
  EXPECT_EQ(heard.status, 0);
  ASSERT_TRUE(heard.end);
  EXPECT_EQ(heard.end->failure, CallFailure::unreachable) << heard.end->what;
  call.reset();
  client.reset();
}

}  // namespace curl_client_test
}  // namespace sluice::net
