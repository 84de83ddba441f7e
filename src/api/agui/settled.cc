#include "api/agui/settled.h"

#include "base/json.h"

namespace sluice::api::agui {
namespace {

class Frames {
 public:
  Frames(wire::Format format, const model::AguiNames& names) : format_(format), names_(names) {}

  void add(std::string_view event) {
    std::string id;
    json::append_string(id, names_.run_id + "-" + std::to_string(count_++));
    if (wire::is_sse(format_)) {
      out_.append("id: ").append(id, 1, id.size() - 2).append("\ndata: ").append(event).append("\n\n");
    } else if (format_ == wire::Format::agui_tanstack_ndjson) {
      out_.append(R"({"id":)").append(id).append(R"(,"chunk":)").append(event).append("}\n");
    } else {
      out_.append(event).append("\n");
    }
  }

  // An event of that type with the client's names in it, open for more members.
  std::string named(std::string_view type) const {
    std::string event = R"({"type":")" + std::string(type) + R"(","threadId":)";
    json::append_string(event, names_.thread_id);
    event += R"(,"runId":)";
    json::append_string(event, names_.run_id);
    return event;
  }

  std::string take() { return std::move(out_); }

 private:
  const wire::Format format_;
  const model::AguiNames& names_;
  int count_ = 0;
  std::string out_;
};

}  // namespace

std::string settled_stream(wire::Format format, const model::AguiNames& names, std::string_view messages) {
  Frames frames(format, names);
  frames.add(frames.named("RUN_STARTED") + R"(,"protocolVersion":"1.0"})");
  frames.add(R"({"type":"MESSAGES_SNAPSHOT","messages":[)" + std::string(messages) + "]}");
  const bool is_tanstack = format == wire::Format::agui_tanstack_sse || format == wire::Format::agui_tanstack_ndjson;
  frames.add(frames.named("RUN_FINISHED") + R"(,"outcome":{"type":"success"})" +
             (is_tanstack ? R"(,"metadata":{"tanstack":{"finishReason":"stop"}}})" : "}"));
  return frames.take();
}

}  // namespace sluice::api::agui
