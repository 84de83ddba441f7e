// What the answers of several connections hold in memory together, because their peers have not read them.
#pragma once

#include <cstddef>

namespace sluice::net {

struct AnswerAccount {
  std::size_t unread_bytes = 0;
};

}  // namespace sluice::net
