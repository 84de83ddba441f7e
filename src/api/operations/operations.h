// The surface of operators and of lost readers: health, metrics, the pages that problems link to, the API's
// description.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "api/answers/assets.h"
#include "api/request/route.h"

namespace sluice::api::operations {

// The packed API reference: "index.html", and "policy", the Content-Security-Policy that it needs.
std::string_view reference_pack();
// openapi/openapi.yaml, from which the reference was made.
std::string_view openapi_text();

// Both as they are sent, made once per server.
struct Documents {
  Assets reference{reference_pack()};
  SharedBytes openapi = std::make_shared<const std::string>(openapi_text());
};

void get_health(const RequestPtr& request);
void get_readiness(const RequestPtr& request);
void get_metrics(const RequestPtr& request);

void list_problems(const RequestPtr& request);
void get_problem(const RequestPtr& request);
void get_home(const RequestPtr& request);
void get_openapi(const RequestPtr& request);
void get_docs(const RequestPtr& request);

}  // namespace sluice::api::operations
