// JSON-RPC in lines, as agent programs speak it over their standard input and output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "harness/harness.h"
#include "harness/json_line.h"

namespace sluice::harness {

// What came in one line. `body` lives only as long as the visit that hands it out.
struct RpcMessage {
  enum class Kind : uint8_t { request, notification, result, error };
  Kind kind = Kind::notification;
  std::string method;  // of a request or a notification
  std::string id;      // of all but a notification: JSON as it came, for it is only compared and sent back
  json::Value body;    // params, result or error
};

class JsonRpc final {
 public:
  // Codex leaves the member "jsonrpc" out, and does not want it.
  enum class Version : uint8_t { named, left_out };
  explicit JsonRpc(Version version) : version_(version) {}

  // Whether more is to be read.
  using Visit = std::function<bool(const RpcMessage&)>;
  // Visits each message in `bytes`, which are cut anywhere. Each line that is no message is reported as a warning, but
  // only some dozens of them, or a program that prints something else would fill the journal.
  void feed(std::string_view bytes, std::vector<Heard>& heard, const Visit& visit);

  // `params` and `result` are JSON. ask() says by which id the answer will come.
  std::string ask(std::string_view method, std::string_view params);
  void tell(std::string_view method, std::string_view params);
  void answer(std::string_view id, std::string_view result);
  void refuse(std::string_view id, std::string_view method);  // a method that is not ours

  std::string take_output() { return std::exchange(output_, {}); }

 private:
  bool read_line(const std::string& line, std::vector<Heard>& heard, const Visit& visit);
  void complain(std::string_view what, std::string_view line, std::vector<Heard>& heard);
  void write(std::string_view id, std::string_view method, std::string_view name, std::string_view body);

  Version version_;
  LineSplitter lines_;
  std::string output_;
  int64_t last_id_ = 0;
  std::size_t complaints_ = 0;
};

}  // namespace sluice::harness
