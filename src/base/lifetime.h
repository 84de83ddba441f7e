// Tells callbacks whether the object that they belong to still exists: an answer may come after the object that asked
// for it is gone, and a listener may destroy the object that is calling it.
//
// A class keeps a Lifetime as its last member, so that it ends before anything else of the object does. Then
// `lifetime_.guard(f)` is a callback that does nothing once the object is gone, `lifetime_.watch()` answers after a
// call from which the object may not have come back, and `lifetime_.ref(*this)` is a pointer that becomes null.
//
// For objects that live and die on one thread: the answer holds for as long as that thread does nothing else. It keeps
// nothing alive, and it does not cancel what is under way.
#pragma once

#include <memory>
#include <utility>

namespace sluice {

// A pointer to an object with a Lifetime, which is null once the object is gone.
template <typename T>
class Ref;

class Lifetime final {
 public:
  class Watch {
   public:
    // The object is gone, or has begun another life.
    bool is_over() const { return line_.expired(); }

   private:
    friend class Lifetime;
    explicit Watch(std::weak_ptr<const char> line) : line_(std::move(line)) {}
    std::weak_ptr<const char> line_;
  };

  Lifetime() = default;
  Lifetime(const Lifetime&) = delete;
  Lifetime& operator=(const Lifetime&) = delete;

  Watch watch() const { return Watch(line_); }

  // Calls `then` unless the lifetime is over.
  template <typename F>
  auto guard(F then) const {
    return [watch = watch(), then = std::move(then)](auto&&... args) mutable {
      if (!watch.is_over()) then(std::forward<decltype(args)>(args)...);
    };
  }

  // `object` must be the one whose lifetime this is.
  template <typename T>
  Ref<T> ref(T& object) const;

  // What was guarded and watched so far is over, though the object is not.
  void begin_anew() { line_ = begin(); }

 private:
  static std::shared_ptr<const char> begin() { return std::make_shared<const char>('\0'); }

  // Nothing shares it: it is a shared_ptr for the sake of the weak ones, which see its end.
  std::shared_ptr<const char> line_ = begin();
};

template <typename T>
class Ref {
 public:
  T* get() const { return watch_.is_over() ? nullptr : object_; }

  // Calls `then` with the object in front of the other arguments, unless the object is gone.
  template <typename F>
  auto guard(F then) const {
    return [ref = *this, then = std::move(then)](auto&&... args) mutable {
      if (auto* object = ref.get()) then(*object, std::forward<decltype(args)>(args)...);
    };
  }

 private:
  friend class Lifetime;
  Ref(T& object, Lifetime::Watch watch) : object_(&object), watch_(std::move(watch)) {}

  T* object_;
  Lifetime::Watch watch_;
};

template <typename T>
Ref<T> Lifetime::ref(T& object) const {
  return Ref<T>(object, watch());
}

}  // namespace sluice
