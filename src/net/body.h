// The complete body of a request: immutable bytes, in memory or in a file without a name.
// Copies share them, so that a worker thread may read on after the exchange is gone.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::net {

class Body final {
 public:
  Body() = default;
  Body(std::string bytes) {  // NOLINT(google-explicit-constructor)
    auto held = std::make_shared<const std::string>(std::move(bytes));
    view_ = *held;
    owner_ = std::move(held);
  }
  Body(const char* text) : Body(std::string(text)) {}  // NOLINT(google-explicit-constructor)
  // `bytes` stay where they are for as long as `owner` lives.
  Body(std::shared_ptr<const void> owner, std::string_view bytes) : owner_(std::move(owner)), view_(bytes) {}

  std::string_view view() const { return view_; }
  operator std::string_view() const { return view_; }  // NOLINT(google-explicit-constructor)
  std::size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }

  friend bool operator==(const Body& body, std::string_view text) { return body.view_ == text; }

 private:
  std::shared_ptr<const void> owner_;  // null: empty
  std::string_view view_;
};

}  // namespace sluice::net
