// A broken promise of our own stops the program: wrong state must never be written or told.
//
// For what a caller can type, use Result. check() is for what only we could have got wrong.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace sluice {

[[noreturn]] inline void check_failed(const char* what, const char* file, int line) {
  std::fprintf(stderr, "sluice: broken invariant: %s (%s:%d)\n", what, file, line);
  std::abort();
}

}  // namespace sluice

#define SLUICE_CHECK(holds) ((holds) ? void() : ::sluice::check_failed(#holds, __FILE__, __LINE__))
