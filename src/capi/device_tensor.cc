// fettle.h: tensors in a device's memory, and maps.
#include "capi/handles.h"
#include "capi/structs.h"
#include "runtime/device_choice.h"

using fettle::InvalidArgument;
using fettle::Layout;
using fettle::MemoryKind;
using fettle::OkStatus;
using fettle::Result;
using fettle::State;
using fettle::Status;
using fettle::capi::FromC;
using fettle::capi::Guard;
using fettle::runtime::MappedView;
using fettle::runtime::TensorBuffer;

namespace {

Result<Layout> LayoutOf(const char* name, int rank) {
  if (name == nullptr) return Layout::RowMajor();
  if (const auto layout = fettle::LayoutFromName(name, rank)) return *layout;
  std::string known = "row";
  for (const fettle::NamedLayout& row : fettle::LayoutTable())
    if (row.rank == rank) known += fmt::format("|{}", row.name);
  return InvalidArgument("layout: expected {} for rank {}, got '{}'", known, rank, name);
}

/// The form that `options` give a tensor.
Result<State> StateOf(const fettle_tensor_options& options, fettle::DeviceKind device,
                      fettle::DType dtype, int rank) {
  ASSIGN_OR_RETURN(
      const MemoryKind memory,
      fettle::runtime::MemoryFromName(options.memory == nullptr ? "buffer" : options.memory));
  const bool is_image = memory == MemoryKind::kImage2d;
  State state{.device = device,
              .memory = is_image ? memory : MemoryKind::kBuffer,
              .storage = options.storage == FETTLE_UNDEFINED ? dtype : FromC(options.storage)};
  const char* const otherwise = is_image ? "NC4HW4" : nullptr;
  ASSIGN_OR_RETURN(state.layout,
                   LayoutOf(options.layout == nullptr ? otherwise : options.layout, rank));
  if (is_image != (state.layout.image_y_dims > 0))
    return InvalidArgument("layout '{}': not one of {}", fettle::LayoutName(state.layout, rank),
                           is_image ? "images" : "buffers");
  return state;
}

Result<std::shared_ptr<TensorBuffer>> CreateTensor(const fettle_session& session,
                                                   fettle::DType dtype, const fettle::Shape& shape,
                                                   const fettle_tensor_options& options) {
  if (options.reserved != 0) return fettle::Unsupported("fettle_tensor_options: reserved is set");
  const auto& accelerators = session.options.accelerators;
  if (accelerators.empty()) {
    // As on a device, but for what a host tensor cannot be.
    ASSIGN_OR_RETURN(const State state,
                     StateOf(options, fettle::DeviceKind::kCpu, dtype, shape.rank()));
    if (state.memory == MemoryKind::kImage2d || !state.layout.IsRowMajor() ||
        state.storage != dtype)
      return InvalidArgument("the session computes on the CPU, whose tensors are row-major");
    ASSIGN_OR_RETURN(fettle::Tensor made, fettle::Tensor::Create(dtype, shape));
    return std::make_shared<TensorBuffer>(std::move(made), /*recyclable=*/true);
  }
  const std::shared_ptr<const fettle::Device>& device = accelerators[0];
  ASSIGN_OR_RETURN(const State state, StateOf(options, device->kind(), dtype, shape.rank()));
  return TensorBuffer::Create(device, dtype, shape, state);
}

Result<fettle::MapAccess> AccessOf(fettle_map_access access) {
  switch (access) {
    case FETTLE_MAP_READ: return fettle::MapAccess::kRead;
    case FETTLE_MAP_WRITE: return fettle::MapAccess::kWrite;
    case FETTLE_MAP_READ_WRITE: return fettle::MapAccess::kReadWrite;
  }
  return InvalidArgument("access {} is not a value of fettle_map_access", static_cast<int>(access));
}

Result<fettle::runtime::MapForm> FormOf(const fettle_map_options& options, int rank) {
  fettle::runtime::MapForm form{.as_stored = options.as_stored != 0};
  if (form.as_stored && (options.layout != nullptr || options.dtype != FETTLE_UNDEFINED))
    return InvalidArgument("as_stored: excludes a layout and a dtype");
  if (options.dtype != FETTLE_UNDEFINED) {
    form.dtype = FromC(options.dtype);
    if (form.dtype == fettle::DType::kUndefined)
      return InvalidArgument("dtype {} is not a value of fettle_dtype",
                             static_cast<int>(options.dtype));
  }
  ASSIGN_OR_RETURN(form.layout, LayoutOf(options.layout, rank));
  return form;
}

}  // namespace

fettle_status fettle_session_create_tensor(const fettle_session* session, fettle_dtype dtype,
                                           int rank, const int64_t* dims,
                                           const fettle_tensor_options* options,
                                           fettle_tensor** tensor) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tensor);
    FETTLE_ENTER(session);
    fettle_tensor_options wanted = FETTLE_TENSOR_OPTIONS_INIT;
    if (options != nullptr) {
      ASSIGN_OR_RETURN(wanted, fettle::capi::ReadStruct(options));
    }
    ASSIGN_OR_RETURN(const fettle::Shape shape, fettle::capi::CheckedShape(dtype, rank, dims));
    ASSIGN_OR_RETURN(auto buffer, CreateTensor(*session, FromC(dtype), shape, wanted));
    *tensor = new fettle_tensor{std::move(buffer)};
    return OkStatus();
  });
}

fettle_status fettle_tensor_map(fettle_tensor* tensor, fettle_map_access access,
                                const fettle_map_options* options, fettle_mapping* mapping) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tensor);
    FETTLE_REQUIRE(mapping);
    RETURN_IF_ERROR(fettle::capi::CheckStruct(mapping));
    ASSIGN_OR_RETURN(const fettle::MapAccess how, AccessOf(access));
    fettle_map_options wanted = FETTLE_MAP_OPTIONS_INIT;
    if (options != nullptr) {
      ASSIGN_OR_RETURN(wanted, fettle::capi::ReadStruct(options));
    }
    ASSIGN_OR_RETURN(const auto form, FormOf(wanted, tensor->buffer->shape().rank()));
    ASSIGN_OR_RETURN(const MappedView view, tensor->buffer->Map(how, form));
    tensor->is_mapped = true;
    return fettle::capi::WriteStruct({.struct_size = sizeof(fettle_mapping),
                                      .data = view.data,
                                      .row_pitch = static_cast<size_t>(view.row_pitch),
                                      .row_bytes = static_cast<size_t>(view.row_bytes),
                                      .rows = static_cast<size_t>(view.rows),
                                      .dtype = fettle::capi::ToC(view.dtype),
                                      .direct = view.is_direct ? 1 : 0},
                                     mapping);
  });
}

fettle_status fettle_tensor_unmap(fettle_tensor* tensor) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tensor);
    if (!tensor->is_mapped.exchange(false)) return InvalidArgument("the tensor is not mapped");
    return tensor->buffer->Unmap();
  });
}

namespace {

Status WriteTransfers(const fettle::Transfers& from, fettle_transfers* to) {
  return fettle::capi::WriteStruct({.struct_size = sizeof(fettle_transfers),
                                    .copies = from.copies,
                                    .copied_bytes = from.copied_bytes,
                                    .maps = from.maps,
                                    .conversions = from.conversions},
                                   to);
}

}  // namespace

fettle_status fettle_tensor_transfers(const fettle_tensor* tensor, fettle_transfers* transfers) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tensor);
    FETTLE_REQUIRE(transfers);
    return WriteTransfers(tensor->buffer->transfers(), transfers);
  });
}

fettle_status fettle_session_transfers(const fettle_session* session, fettle_transfers* transfers) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(transfers);
    FETTLE_ENTER(session);
    return WriteTransfers(session->session->transfers(), transfers);
  });
}
