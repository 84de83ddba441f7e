// expect: call to deleted member function 'root'
//
// A Value is a view into its Document.
#include "base/json.h"

namespace sluice {
json::Kind dangles(std::string_view text) { return json::Document::parse(text).take().root().kind(); }
}  // namespace sluice
