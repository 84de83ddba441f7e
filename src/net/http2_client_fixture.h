// For tests: a client that speaks HTTP/2 and keeps what it hears, stream by stream.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "net/live_server.h"

namespace sluice::net {

// How the client's bytes travel.
class Wire {
 public:
  virtual ~Wire() = default;
  virtual void say(std::string_view bytes) = 0;
  virtual std::string hear_some() = 0;  // empty at the end
};

class PlainWire final : public Wire {
 public:
  explicit PlainWire(uint16_t port, int receive_buffer_bytes = 0) : socket(port, receive_buffer_bytes) {}
  void say(std::string_view bytes) override { socket.say(bytes); }
  std::string hear_some() override {
    pollfd waiting{socket.fd(), POLLIN, 0};
    if (poll(&waiting, 1, std::chrono::milliseconds(test_patience).count()) != 1) return "";
    char bytes[64 * 1024];
    const ssize_t got = recv(socket.fd(), bytes, sizeof bytes, 0);
    return got > 0 ? std::string(bytes, static_cast<std::size_t>(got)) : "";
  }
  RawClient socket;
};

enum class Reading : uint8_t { at_once, when_told };

class Http2Client {
 public:
  struct Answer {
    std::map<std::string, std::string> fields;
    std::string body;
    std::vector<std::string> interim;  // statuses before the last
    bool ended = false;                // with END_STREAM
    std::optional<uint32_t> closed;    // the code
    std::string status() const { return fields.contains(":status") ? fields.at(":status") : ""; }
  };

  explicit Http2Client(Wire& wire, Reading reading = Reading::at_once) : wire_(wire) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_option* option = nullptr;
    nghttp2_option_new(&option);
    if (reading == Reading::when_told) nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_no_http_messaging(option, 1);
    nghttp2_option_set_max_send_header_block_length(option, 1 << 20);
    nghttp2_session_client_new2(&session_, callbacks, this, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
    if (reading == Reading::when_told) {  // so that only the windows of streams count
      nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, 1 << 30);
    }
  }
  ~Http2Client() { nghttp2_session_del(session_); }

  using Fields = std::vector<std::pair<std::string, std::string>>;
  static Fields get(const std::string& path) {
    return {{":method", "GET"}, {":scheme", "http"}, {":authority", "h"}, {":path", path}};
  }
  static Fields post(const std::string& path) {
    return {{":method", "POST"}, {":scheme", "http"}, {":authority", "h"}, {":path", path}};
  }

  int32_t ask(const Fields& fields) { return submit(fields, nullptr); }
  // Sends as much of the body as the server's windows allow, turn by turn.
  int32_t ask(const Fields& fields, std::string body) {
    auto& sending = bodies_.emplace_back(std::make_unique<Sending>(std::move(body)));
    const nghttp2_data_provider provider = {{.ptr = sending.get()}, read_body};
    return submit(fields, &provider);
  }
  // A request whose body does not end.
  int32_t ask_without_end(const Fields& fields, std::string body) {
    const int32_t id = ask(fields, std::move(body));
    bodies_.back()->is_open = true;
    return id;
  }
  void reset(int32_t id) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    flush();
  }
  void ping() {
    nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
    flush();
  }
  // What was heard on the stream is taken note of, so that more may come.
  void read_on(int32_t id, std::size_t bytes) {
    nghttp2_session_consume(session_, id, bytes);
    flush();
  }

  Answer& answer(int32_t id) { return answers_[id]; }
  // The whole answer, or what came before the connection ended.
  const Answer& whole(int32_t id) {
    hear_until([&] { return answers_[id].closed.has_value(); });
    return answers_[id];
  }
  bool hear_until(const std::function<bool()>& enough) {
    flush();
    while (!enough()) {
      const std::string heard = wire_.hear_some();
      if (heard.empty()) {
        ended = true;
        return enough();
      }
      nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(heard.data()), heard.size());
      flush();
    }
    return true;
  }
  void hear_all() {
    hear_until([] { return false; });
  }
  void flush() {
    const uint8_t* bytes = nullptr;
    for (ssize_t size = 0; (size = nghttp2_session_mem_send(session_, &bytes)) > 0;) {
      wire_.say({reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)});
    }
  }
  nghttp2_session* session() { return session_; }

  std::optional<uint32_t> goaway;
  bool ended = false;

 private:
  struct Sending {
    explicit Sending(std::string all) : body(std::move(all)) {}
    std::string body;
    std::size_t sent = 0;
    bool is_open = false;
  };

  int32_t submit(const Fields& fields, const nghttp2_data_provider* body) {
    std::vector<nghttp2_nv> list;
    for (const auto& [name, value] : fields) {
      list.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                      reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
                      NGHTTP2_NV_FLAG_NONE});
    }
    const int32_t id = nghttp2_submit_request(session_, nullptr, list.data(), list.size(), body, nullptr);
    SLUICE_CHECK(id > 0);
    return id;
  }

  static Http2Client& of(void* user) { return *static_cast<Http2Client*>(user); }
  static ssize_t read_body(nghttp2_session*, int32_t, uint8_t* into, std::size_t room, uint32_t* flags,
                           nghttp2_data_source* source, void*) {
    auto& sending = *static_cast<Sending*>(source->ptr);
    const std::size_t size = std::min(room, sending.body.size() - sending.sent);
    std::memcpy(into, sending.body.data() + sending.sent, size);
    sending.sent += size;
    if (sending.sent == sending.body.size()) {
      if (sending.is_open && size == 0) return NGHTTP2_ERR_DEFERRED;
      if (!sending.is_open) *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    return static_cast<ssize_t>(size);
  }
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, std::size_t name_size,
                       const uint8_t* value, std::size_t value_size, uint8_t, void* user) {
    auto& answer = of(user).answers_[frame->hd.stream_id];
    const std::string key(reinterpret_cast<const char*>(name), name_size);
    if (key == ":status" && !answer.status().empty()) answer.interim.push_back(answer.status());
    answer.fields[key] = std::string(reinterpret_cast<const char*>(value), value_size);
    return 0;
  }
  static int on_data(nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, std::size_t size, void* user) {
    of(user).answers_[id].body.append(reinterpret_cast<const char*>(data), size);
    return 0;
  }
  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    auto& self = of(user);
    if (frame->hd.type == NGHTTP2_GOAWAY) self.goaway = frame->goaway.error_code;
    const bool is_answer = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (is_answer && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) self.answers_[frame->hd.stream_id].ended = true;
    return 0;
  }
  static int on_close(nghttp2_session*, int32_t id, uint32_t error, void* user) {
    of(user).answers_[id].closed = error;
    return 0;
  }

  Wire& wire_;
  nghttp2_session* session_ = nullptr;
  std::map<int32_t, Answer> answers_;
  std::vector<std::unique_ptr<Sending>> bodies_;
};

}  // namespace sluice::net
