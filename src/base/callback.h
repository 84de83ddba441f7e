// A function that is owned by one place and called from there: move-only, small ones stored in place.
//
// std::function wants its captures copyable, which a reply to a waiting client is not.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace sluice {

template <typename Signature>
class Callback;

template <typename R, typename... Args>
class Callback<R(Args...)> {
 public:
  Callback() = default;
  Callback(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)

  template <typename F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, Callback> && std::is_invocable_r_v<R, F&, Args...>)
  Callback(F&& f) {  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
    using Held = std::remove_cvref_t<F>;
    if constexpr (fits<Held>) {
      ::new (static_cast<void*>(storage_)) Held(std::forward<F>(f));
      ops_ = &in_place_ops<Held>;
    } else {
      ::new (static_cast<void*>(storage_)) Held*(new Held(std::forward<F>(f)));
      ops_ = &on_heap_ops<Held>;
    }
  }

  Callback(Callback&& other) noexcept { take(other); }
  Callback& operator=(Callback&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;
  ~Callback() { reset(); }

  explicit operator bool() const { return ops_ != nullptr; }

  R operator()(Args... args) {
    SLUICE_CHECK(ops_ != nullptr);
    return ops_->call(storage_, std::forward<Args>(args)...);
  }

  void reset() {
    if (ops_ == nullptr) return;
    const Ops* ops = std::exchange(ops_, nullptr);
    ops->destroy(storage_);
  }

 private:
  static constexpr std::size_t room = 40;
  struct Ops {
    R (*call)(void*, Args&&...);
    void (*move)(void* from, void* to) noexcept;
    void (*destroy)(void*) noexcept;
  };

  template <typename Held>
  static constexpr bool fits =
      sizeof(Held) <= room && alignof(Held) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<Held>;

  template <typename Held>
  static constexpr Ops in_place_ops = {
      [](void* at, Args&&... args) -> R { return (*static_cast<Held*>(at))(std::forward<Args>(args)...); },
      [](void* from, void* to) noexcept {
        ::new (to) Held(std::move(*static_cast<Held*>(from)));
        static_cast<Held*>(from)->~Held();
      },
      [](void* at) noexcept { static_cast<Held*>(at)->~Held(); },
  };
  template <typename Held>
  static constexpr Ops on_heap_ops = {
      [](void* at, Args&&... args) -> R { return (**static_cast<Held**>(at))(std::forward<Args>(args)...); },
      [](void* from, void* to) noexcept { ::new (to) Held*(*static_cast<Held**>(from)); },
      [](void* at) noexcept { delete *static_cast<Held**>(at); },
  };

  void take(Callback& other) noexcept {
    if (other.ops_ == nullptr) return;
    other.ops_->move(other.storage_, storage_);
    ops_ = std::exchange(other.ops_, nullptr);
  }

  alignas(std::max_align_t) std::byte storage_[room];
  const Ops* ops_ = nullptr;
};

}  // namespace sluice
