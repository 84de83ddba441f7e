#include "net/http2_session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "net/http_head.h"

namespace sluice::net {
namespace {

constexpr std::size_t passed_bytes_max = 256 * 1024 * 1024;  // of the body of a request that has its answer

// What a stream, and all together, may send before they hear from us. Bodies are taken as they come, so this
// only bounds what is on its way.
constexpr int32_t stream_window_bytes = 1024 * 1024;
constexpr int32_t connection_window_bytes = 4 * 1024 * 1024;
// A head beyond its limit is decoded further so that the client can be answered, but not forever.
constexpr std::size_t decoded_head_bytes_max = 8 * limits::header_bytes_max;

std::string_view text_of(const uint8_t* data, std::size_t size) { return {reinterpret_cast<const char*>(data), size}; }

// nghttp2 copies both, and writes names in lower case.
nghttp2_nv field_of(std::string_view name, std::string_view value) {
  return {reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

bool is_one_line(std::string_view value) { return value.find_first_of(std::string_view("\r\n\0", 3)) == value.npos; }

std::string on_one_line(std::string_view value) {
  std::string line(value);
  std::replace_if(line.begin(), line.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; }, ' ');
  return line;
}

bool ends_stream(const nghttp2_frame& frame) { return (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0; }

}  // namespace

// What nghttp2 calls. Nothing may throw through it, and nothing does.
struct Http2Session::Callbacks {
  static Http2Session& session_of(void* user) { return *static_cast<Http2Session*>(user); }
  static Http2Stream* stream_of(nghttp2_session* session, int32_t id) {
    return static_cast<Http2Stream*>(nghttp2_session_get_stream_user_data(session, id));
  }

  static int on_begin_headers(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    auto& self = session_of(user);
    const int32_t id = frame->hd.stream_id;
    auto& stream = self.streams_[id];
    stream = std::make_unique<Http2Stream>(id, self.limits_, self.bodies_, self.origin_);
    nghttp2_session_set_stream_user_data(session, id, stream.get());
    self.listener_.on_begun(*stream);
    return 0;
  }

  static int on_header(nghttp2_session* session, const nghttp2_frame* frame, const uint8_t* name, std::size_t name_size,
                       const uint8_t* value, std::size_t value_size, uint8_t, void*) {
    Http2Stream* const stream = stream_of(session, frame->hd.stream_id);
    if (stream == nullptr) return 0;
    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      stream->on_field(text_of(name, name_size), text_of(value, value_size));
    } else {
      stream->on_trailer(text_of(name, name_size), text_of(value, value_size));
    }
    return stream->header_bytes() > decoded_head_bytes_max ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE : 0;
  }

  // What nghttp2 would otherwise leave out in silence.
  static int on_invalid_header(nghttp2_session* session, const nghttp2_frame* frame, const uint8_t*, std::size_t,
                               const uint8_t*, std::size_t, uint8_t, void*) {
    if (Http2Stream* const stream = stream_of(session, frame->hd.stream_id)) stream->on_malformed_field();
    return 0;
  }

  // RFC 9113 §8.1: who was answered early may keep the rest of the body. But curl forgets an answer that a reset
  // follows while it still sends, so some of the rest is let pass first.
  enum class Passing : uint8_t { fine, too_much };
  static Passing pass(Http2Stream& stream, std::size_t size) {
    const bool was_fine = stream.passed_bytes <= passed_bytes_max;
    stream.passed_bytes += size;
    return was_fine && stream.passed_bytes > passed_bytes_max ? Passing::too_much : Passing::fine;
  }

  static int on_data(nghttp2_session* session, uint8_t, int32_t id, const uint8_t* data, std::size_t size, void* user) {
    Http2Stream* const stream = stream_of(session, id);
    if (stream == nullptr) return 0;
    stream->on_data(text_of(data, size));
    auto& listener = session_of(user).listener_;
    if (!stream->refused()) {
      listener.on_body(*stream);
    } else if (!stream->answered) {
      listener.on_refused(*stream);
    } else if (pass(*stream, size) == Passing::too_much) {
      session_of(user).reset(*stream, Http2Error::no_error);
    }
    return 0;
  }

  static void on_part(Http2Stream& stream, const nghttp2_frame& frame, Listener& listener) {
    const bool is_head = frame.hd.type == NGHTTP2_HEADERS && frame.headers.cat == NGHTTP2_HCAT_REQUEST;
    if (is_head) stream.on_head_end();
    if (ends_stream(frame)) stream.on_request_end();
    if (stream.answered) return;  // refused and answered
    if (stream.refused()) {
      listener.on_refused(stream);
    } else if (stream.request_ended()) {
      listener.on_request(stream);
    } else if (is_head) {
      listener.on_head(stream);
    }
  }

  static int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    auto& self = session_of(user);
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS:
      case NGHTTP2_DATA:
        if (Http2Stream* const stream = stream_of(session, frame->hd.stream_id))
          on_part(*stream, *frame, self.listener_);
        if (frame->hd.length == 0 && !ends_stream(*frame)) self.listener_.on_nuisance();
        return 0;
      case NGHTTP2_PING:
      case NGHTTP2_SETTINGS:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) self.listener_.on_nuisance();
        return 0;
      case NGHTTP2_PRIORITY: self.listener_.on_nuisance(); return 0;
      default: return 0;
    }
  }

  static int on_frame_sent(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    Http2Stream* const stream = stream_of(session, frame->hd.stream_id);
    if (stream == nullptr) return 0;
    auto& self = session_of(user);
    if (frame->hd.type == NGHTTP2_HEADERS) self.listener_.on_sent(*stream);
    if (ends_stream(*frame) && !stream->request_ended()) self.listener_.on_answered_early(*stream);
    return 0;
  }

  static int on_stream_close(nghttp2_session* session, int32_t id, uint32_t error, void* user) {
    auto& self = session_of(user);
    if (error != NGHTTP2_NO_ERROR) self.listener_.on_nuisance();
    Http2Stream* const stream = stream_of(session, id);
    if (stream == nullptr) return 0;
    nghttp2_session_set_stream_user_data(session, id, nullptr);
    const auto found = self.streams_.find(id);
    const auto held = std::move(found->second);
    self.streams_.erase(found);
    self.listener_.on_closed(*held);
    return 0;
  }

  static ssize_t read_outbox(nghttp2_session*, int32_t, uint8_t*, std::size_t size, uint32_t* flags,
                             nghttp2_data_source* source, void*) {
    auto& stream = *static_cast<Http2Stream*>(source->ptr);
    const std::size_t queued = stream.outbox.size();
    if (queued <= size && stream.ending == Http2Stream::Ending::finish) *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (queued > 0) {
      *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
      return static_cast<ssize_t>(std::min(queued, size));
    }
    switch (stream.ending) {
      case Http2Stream::Ending::finish: return 0;
      case Http2Stream::Ending::abort: return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // resets: INTERNAL_ERROR
      case Http2Stream::Ending::none: break;
    }
    stream.idle = true;
    return NGHTTP2_ERR_DEFERRED;
  }

  static int send_data(nghttp2_session*, nghttp2_frame*, const uint8_t* frame_head, std::size_t size,
                       nghttp2_data_source* source, void* user) {
    constexpr std::size_t frame_head_bytes = 9;
    auto& self = session_of(user);
    if (self.filling_->size() >= self.filling_max_) return NGHTTP2_ERR_WOULDBLOCK;
    auto& stream = *static_cast<Http2Stream*>(source->ptr);
    self.filling_->add_text(text_of(frame_head, frame_head_bytes));
    stream.outbox.move_front(size, *self.filling_);
    self.listener_.on_sent(stream);
    return 0;
  }
};

Http2Session::Http2Session(Listener& listener, const RequestLimits& limits, BodyRoom& bodies,
                           std::shared_ptr<Origin> origin)
    : listener_(listener), limits_(limits), bodies_(bodies), origin_(std::move(origin)) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_option* option = nullptr;
  SLUICE_CHECK(nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&option) == 0);
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, Callbacks::on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::on_header);
  nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, Callbacks::on_invalid_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::on_frame);
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, Callbacks::on_frame_sent);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::on_stream_close);
  nghttp2_session_callbacks_set_send_data_callback(callbacks, Callbacks::send_data);
  nghttp2_option_set_no_closed_streams(option, 1);
  // The listener counts resets; nghttp2 would stop at 33 a second, which a busy proxy reaches.
  nghttp2_option_set_stream_reset_rate_limit(option, 4 * limits::nuisances_per_second_max,
                                             limits::nuisances_per_second_max);
  SLUICE_CHECK(nghttp2_session_server_new2(&session_, callbacks, this, option) == 0);
  nghttp2_session_callbacks_del(callbacks);
  nghttp2_option_del(option);
  const std::array<nghttp2_settings_entry, 3> settings = {
      {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits::streams_per_connection_max},
       {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, stream_window_bytes},
       {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits::header_bytes_max}}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, connection_window_bytes);
}

Http2Session::~Http2Session() { nghttp2_session_del(session_); }

void Http2Session::receive(std::string_view bytes) {
  if (terminated_) return;
  const auto taken = nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  if (taken >= 0) return;
  terminate(taken == NGHTTP2_ERR_FLOODED ? Http2Error::enhance_your_calm : Http2Error::protocol_error);
}

void Http2Session::fill(Outbox& outbox, std::size_t bytes_max) {
  filling_ = &outbox;
  filling_max_ = bytes_max;
  while (outbox.size() < bytes_max) {
    const uint8_t* frame = nullptr;
    const auto size = nghttp2_session_mem_send(session_, &frame);
    if (size <= 0) break;
    outbox.add_text(text_of(frame, static_cast<std::size_t>(size)));
  }
  filling_ = nullptr;
}

bool Http2Session::is_over() const {
  return nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
}

void Http2Session::submit(Http2Stream& stream, const Answer& answer) {
  stream.answered = true;
  char status[12];
  char length[24];
  const auto digits = [](std::span<char> into, std::size_t number) {
    return std::string_view(into.data(), std::to_chars(into.data(), into.data() + into.size(), number).ptr);
  };
  std::vector<std::string> cleaned;
  cleaned.reserve(answer.headers.all().size());
  std::vector<nghttp2_nv> fields;
  fields.reserve(answer.headers.all().size() + 3);
  fields.push_back(field_of(":status", digits(status, static_cast<std::size_t>(answer.status))));
  for (const auto& [name, value] : answer.headers.all()) {
    if (is_servers_own(name)) continue;
    const bool is_clean = is_one_line(value);
    if (!is_clean) cleaned.push_back(on_one_line(value));
    fields.push_back(field_of(name, is_clean ? std::string_view(value) : cleaned.back()));
  }
  fields.push_back(field_of("date", answer.date));
  if (answer.length) fields.push_back(field_of("content-length", digits(length, *answer.length)));
  const nghttp2_data_provider body = {{.ptr = &stream}, Callbacks::read_outbox};
  nghttp2_submit_response(session_, stream.id(), fields.data(), fields.size(),
                          answer.body == BodyOf::outbox ? &body : nullptr);
}

void Http2Session::submit_continue(const Http2Stream& stream) {
  const nghttp2_nv status = field_of(":status", "100");
  nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, stream.id(), nullptr, &status, 1, nullptr);
}

void Http2Session::resume(Http2Stream& stream) {
  if (!std::exchange(stream.idle, false)) return;
  nghttp2_session_resume_data(session_, stream.id());
}

void Http2Session::reset(const Http2Stream& stream, Http2Error why) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream.id(), static_cast<uint32_t>(why));
}

void Http2Session::go_away() {
  if (terminated_) return;
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_),
                        NGHTTP2_NO_ERROR, nullptr, 0);
}

void Http2Session::terminate(Http2Error why) {
  if (std::exchange(terminated_, true)) return;
  nghttp2_session_terminate_session(session_, static_cast<uint32_t>(why));
}

}  // namespace sluice::net
