// expect: call to deleted member function 'value'
//
// A view into a Result that dies at the semicolon.
#include "base/result.h"

namespace sluice {
Result<std::string> greeting() { return std::string("hello"); }
std::string_view dangles() { return greeting().value(); }
}  // namespace sluice
