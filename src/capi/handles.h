// What stands behind the handles of fettle.h, and how failures cross the boundary.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/status.h"
#include "fettle/fettle.h"
#include "runtime/model.h"
#include "runtime/session.h"
#include "tensor/tensor.h"

struct fettle_model {
  std::shared_ptr<const fettle::runtime::Model> model;
};

struct fettle_tensor {
  fettle::Tensor tensor;
};

struct fettle_session {
  std::unique_ptr<fettle::runtime::Session> session;
  fettle::runtime::TensorMap inputs, outputs;
  std::shared_ptr<const fettle::runtime::Model> model;
  fettle::runtime::SessionOptions options;
};

namespace fettle::capi {

fettle_dtype ToC(DType dtype);
DType FromC(fettle_dtype dtype);

/// Keeps the message for fettle_last_error and returns the code.
fettle_status Report(const Status& status);

/// Runs `body`, which returns a Status; nothing it throws passes on.
template <typename Body>
fettle_status Guard(Body&& body) {
  try {
    return Report(body());
  } catch (const std::bad_alloc&) {
    return Report(Error(StatusCode::kOutOfMemory, "out of memory"));
  } catch (const std::exception& error) {
    return Report(Error(StatusCode::kInternal, "{}", error.what()));
  }
}

}  // namespace fettle::capi

/// Refuses null where the caller must pass something.
#define FETTLE_REQUIRE(pointer) \
  if ((pointer) == nullptr) return ::fettle::InvalidArgument(#pointer " is null")
