// The parts of a request around its fields: the JSON body, the query string, the idempotency key. What is invalid is
// collected in Findings, so that a client learns all its mistakes from one answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/request/fields.h"
#include "api/request/request_context.h"
#include "base/json.h"

namespace sluice::api {

// The problem that the findings amount to, if any. Near misses are logged.
std::optional<model::Problem> problem_of(const RequestPtr& request, const Findings& findings);
// Answers with that problem; true if there was one.
bool refused(const RequestPtr& request, const Findings& findings);

// Saturated: a number out of range is read as ±1e308, so that only its sign counts.
enum class Numbers : uint8_t { exact, saturated };
// The body as JSON. Empty: it is invalid, and the request has been answered.
std::optional<json::Document> read_body(const RequestPtr& request, Numbers numbers = Numbers::exact);

// The client's own key for this request, if it has one.
std::optional<std::string> read_idempotency_key(const RequestPtr& request, Findings& findings);

// The parameters of a query string.
class Query final {
 public:
  Query(const RequestPtr& request, NameList known, Findings& findings);
  // The value, if it was given once.
  std::optional<std::string_view> find(std::string_view name) const;
  std::optional<int64_t> integer(std::string_view name, int64_t least, int64_t most) const;
  void refuse(std::string_view name, std::string message) const;

 private:
  std::vector<std::pair<std::string, std::string>> parameters_;
  Findings& findings_;
};

}  // namespace sluice::api
