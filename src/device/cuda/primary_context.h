// A context of NVIDIA's CUDA driver, for the device that another interface has open.
#pragma once

#include <memory>

#include "device/cuda/cuda_api.h"

namespace fettle::cuda {

/// The primary context, which others in the process share. Thread-safe.
class PrimaryContext {
 public:
  /// Of the device of that UUID. kDeviceUnavailable where CUDA has none, kDeviceError.
  static fettle::Result<std::shared_ptr<PrimaryContext>> Open(const Uuid& uuid, const Api& api);
  ~PrimaryContext() { api_.PrimaryContextRelease(device_); }
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  /// Makes the context the thread's, and puts back what was there.
  class Scope {
   public:
    explicit Scope(const PrimaryContext& context) : api_(context.api_) {
      api_.ContextPush(context.context_);
    }
    ~Scope() {
      Context ours = nullptr;
      api_.ContextPop(&ours);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const Api& api_;
  };

  const Api& api() const { return api_; }
  Device device() const { return device_; }

 private:
  PrimaryContext(const Api& api, Device device, Context context)
      : api_(api), device_(device), context_(context) {}

  const Api& api_;
  Device device_;
  Context context_;
};

}  // namespace fettle::cuda
