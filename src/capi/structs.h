// The caller's structs, which have the size that the caller's header gave them.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/status.h"
#include "fettle/fettle.h"

namespace fettle::capi {

/// A public struct's name and the sizes that it has had, ascending: where members were appended,
/// offsetof the first of each version's, then today's. No struct ends in padding (whose bytes may
/// hold anything), so every size but today's is such an offset.
template <typename T>
struct PublicStruct;

#define FETTLE_PUBLIC_STRUCT(type, ...)                                           \
  template <>                                                                     \
  struct PublicStruct<type> {                                                     \
    static constexpr std::string_view kName = #type;                              \
    static constexpr size_t kSizes[] = {__VA_ARGS__ __VA_OPT__(, ) sizeof(type)}; \
  }
FETTLE_PUBLIC_STRUCT(fettle_value_info, offsetof(fettle_value_info, symbols));
FETTLE_PUBLIC_STRUCT(fettle_session_options, offsetof(fettle_session_options, svm),
                     offsetof(fettle_session_options, subnormals),
                     offsetof(fettle_session_options, max_memory),
                     offsetof(fettle_session_options, max_runs),
                     offsetof(fettle_session_options, start));
FETTLE_PUBLIC_STRUCT(fettle_tune_options, offsetof(fettle_tune_options, packed_weights),
                     offsetof(fettle_tune_options, progress));
FETTLE_PUBLIC_STRUCT(fettle_tune_report);
FETTLE_PUBLIC_STRUCT(fettle_background_options);
FETTLE_PUBLIC_STRUCT(fettle_background_state);
FETTLE_PUBLIC_STRUCT(fettle_step);
FETTLE_PUBLIC_STRUCT(fettle_memory);
FETTLE_PUBLIC_STRUCT(fettle_tuner_options);
FETTLE_PUBLIC_STRUCT(fettle_tuner_state);
FETTLE_PUBLIC_STRUCT(fettle_tuner_callbacks);
FETTLE_PUBLIC_STRUCT(fettle_tensor_options);
FETTLE_PUBLIC_STRUCT(fettle_map_options);
FETTLE_PUBLIC_STRUCT(fettle_mapping);
FETTLE_PUBLIC_STRUCT(fettle_transfers);
FETTLE_PUBLIC_STRUCT(fettle_gemm_options, offsetof(fettle_gemm_options, subnormals));
FETTLE_PUBLIC_STRUCT(fettle_generate_options, offsetof(fettle_generate_options, sequences));
FETTLE_PUBLIC_STRUCT(fettle_generate_facts);
FETTLE_PUBLIC_STRUCT(fettle_generate_sampling);
#undef FETTLE_PUBLIC_STRUCT

/// Whether `size` is that of a known version or may be that of a newer one. kInvalidArgument.
Status CheckStructSize(std::string_view name, std::span<const size_t> sizes, size_t size);
/// Copies what both sides know of `from` into `to`, which holds the defaults in sizes.back() bytes.
/// kUnsupported where `from` has members set that `to` lacks.
Status ReadStructBytes(std::string_view name, std::span<const size_t> sizes, const void* from,
                       void* to);
/// Copies what both sides know of `from`, of sizes.back() bytes, into the struct `to`, which keeps
/// its size and gets zeros in what `from` lacks.
Status WriteStructBytes(std::string_view name, std::span<const size_t> sizes, const void* from,
                        void* to);

template <typename T>
Status CheckStruct(const T* given) {
  return CheckStructSize(PublicStruct<T>::kName, PublicStruct<T>::kSizes, given->struct_size);
}

/// The caller's struct in today's form; what an older one lacks is zero, the default of every
/// member. struct_size is today's.
template <typename T>
Result<T> ReadStruct(const T* given) {
  T read = {};
  RETURN_IF_ERROR(ReadStructBytes(PublicStruct<T>::kName, PublicStruct<T>::kSizes, given, &read));
  read.struct_size = sizeof(T);
  return read;
}

/// Fills the caller's struct.
template <typename T>
Status WriteStruct(const std::type_identity_t<T>& value, T* to) {
  return WriteStructBytes(PublicStruct<T>::kName, PublicStruct<T>::kSizes, &value, to);
}

}  // namespace fettle::capi
