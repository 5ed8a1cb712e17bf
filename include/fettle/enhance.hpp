// Ownership over enhance.h (C++20). Failures throw fettle::Error.
#pragma once

#include <fettle/enhance.h>

#include <fettle/fettle.hpp>
#include <memory>
#include <string>
#include <utility>

namespace fettle {

/// A result; its planes live as long as it does. Movable.
class EnhancedFrame {
 public:
  explicit EnhancedFrame(fettle_frame frame) : frame_(frame) {}
  EnhancedFrame(EnhancedFrame&& other) noexcept
      : frame_(std::exchange(other.frame_, fettle_frame FETTLE_FRAME_INIT)) {}
  EnhancedFrame& operator=(EnhancedFrame&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~EnhancedFrame() { fettle_frame_release(&frame_); }
  const fettle_frame& get() const { return frame_; }
  const fettle_frame* operator->() const { return &frame_; }

 private:
  fettle_frame frame_;
};

struct EnhancerOptions {
  std::string steps = "superres", network = "fast";
  double latency_ms = 0, level = 0;
  bool full_range = false;
};

/// The steps of one stream and their state, for one thread at a time. Movable.
class Enhancer {
 public:
  Enhancer(fettle_pixels pixels, int width, int height, const EnhancerOptions& options = {}) {
    const fettle_enhancer_options given = {sizeof(fettle_enhancer_options),
                                           options.steps.c_str(),
                                           options.network.c_str(),
                                           options.latency_ms,
                                           options.level,
                                           options.full_range ? 1 : 0};
    fettle_enhancer* made = nullptr;
    Check(fettle_enhancer_create(pixels, width, height, &given, &made));
    enhancer_.reset(made);
  }
  EnhancedFrame Run(const fettle_frame& frame) {
    fettle_frame result = FETTLE_FRAME_INIT;
    Check(fettle_enhancer_run(enhancer_.get(), &frame, &result));
    return EnhancedFrame(result);
  }
  /// Pixels and size of all results.
  fettle_frame Result() const {
    fettle_frame shape = FETTLE_FRAME_INIT;
    Check(fettle_enhancer_result(enhancer_.get(), &shape));
    return shape;
  }
  fettle_enhancer_facts Facts() const {
    fettle_enhancer_facts facts = {sizeof(fettle_enhancer_facts), 0, 0, 0, 0};
    Check(fettle_enhancer_facts_of(enhancer_.get(), &facts));
    return facts;
  }
  void Reset() { Check(fettle_enhancer_reset(enhancer_.get())); }

 private:
  struct Free {
    void operator()(fettle_enhancer* enhancer) const { fettle_enhancer_free(enhancer); }
  };
  static void Check(fettle_status status) {
    if (status != FETTLE_OK) throw Error(status, fettle_enhancer_error());
  }
  std::unique_ptr<fettle_enhancer, Free> enhancer_;
};

}  // namespace fettle
