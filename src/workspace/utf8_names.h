// Names in archives as UTF-8, while it lives.
#pragma once

#include <locale.h>

namespace sluice::workspace {

// libarchive turns names into the characters of the thread's locale, and "C" has only ASCII.
class Utf8Names final {
 public:
  Utf8Names() : locale_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (locale_ != nullptr) before_ = uselocale(locale_);
  }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;
  ~Utf8Names() {
    if (locale_ == nullptr) return;
    uselocale(before_);
    freelocale(locale_);
  }

 private:
  locale_t locale_;
  locale_t before_ = nullptr;
};

}  // namespace sluice::workspace
