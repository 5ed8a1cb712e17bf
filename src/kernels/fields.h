// Parameters declared once: a member of a struct, its text, the values that are searched and the
// macro that sets it in OpenCL C.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>

#include "kernels/kernel.h"

namespace fettle::kernels {

/// One parameter of a struct `T` of int64_t members.
template <typename T>
struct Field {
  static constexpr size_t kMostValues = 9;

  /// No `values`: they follow from the problem. No `macro`: the parameter is not compiled in.
  constexpr Field(std::string_view name_of, int64_t T::*at, std::initializer_list<int64_t> searched,
                  std::string_view macro_of = {})
      : name(name_of), member(at), macro(macro_of), count(searched.size()) {
    std::copy(searched.begin(), searched.end(), list.begin());
  }

  std::string_view name;
  int64_t T::*member;
  std::string_view macro;
  size_t count;
  std::array<int64_t, kMostValues> list{};

  std::span<const int64_t> values() const { return {list.data(), count}; }
};

/// The parameters of a kernel, in the order in which they are searched. With static storage.
template <typename T, size_t kCount>
class Fields {
 public:
  /// `source` is the OpenCL C, below kernels/opencl, that has the macros.
  template <typename... More>
  constexpr explicit Fields(std::string_view source, const More&... fields)
      : source_(source), fields_{fields...} {}

  /// Parameters that are left out keep the values of `read`.
  T Read(const Params& params, T read = {}) const {
    for (const Field<T>& field : fields_) {
      const auto at = params.find(field.name);
      if (at != params.end()) read.*field.member = at->second;
    }
    return read;
  }
  void Write(const T& from, Params& params) const {
    for (const Field<T>& field : fields_) params[std::string(field.name)] = from.*field.member;
  }
  Params Write(const T& from) const {
    Params params;
    Write(from, params);
    return params;
  }
  /// Those of which values are listed.
  void AppendTunables(std::vector<Tunable>& tunables) const {
    for (const Field<T>& field : fields_) {
      if (field.count > 0)
        tunables.push_back(
            {std::string(field.name), {field.values().begin(), field.values().end()}});
    }
  }
  std::vector<Tunable> Tunables() const {
    std::vector<Tunable> tunables;
    AppendTunables(tunables);
    return tunables;
  }
  /// With values that follow from the problem, a list for each field.
  std::vector<Tunable> Tunables(const std::array<std::vector<int64_t>, kCount>& values) const {
    std::vector<Tunable> tunables;
    for (size_t i = 0; i < kCount; ++i)
      tunables.push_back({std::string(fields_[i].name), values[i]});
    return tunables;
  }
  /// Adds "-DMACRO=value" to the options of a program for each parameter with a macro.
  template <typename Options>
  void Define(const T& from, Options& options) const {
    for (const Field<T>& field : fields_)
      if (!field.macro.empty()) options.Define(field.macro, from.*field.member);
  }
  void AppendInfos(std::vector<ParamInfo>& infos) const {
    for (const Field<T>& field : fields_)
      infos.push_back({field.name, field.values(), field.macro, source_});
  }

 private:
  std::string_view source_;
  std::array<Field<T>, kCount> fields_;
};

template <typename T, typename... More>
Fields(std::string_view, Field<T>, More...) -> Fields<T, 1 + sizeof...(More)>;

/// KernelDesc::parameters of the fields of a kernel.
template <const auto&... kFields>
std::span<const ParamInfo> ParametersOf() {
  static const std::vector<ParamInfo> kInfos = [] {
    std::vector<ParamInfo> infos;
    (kFields.AppendInfos(infos), ...);
    return infos;
  }();
  return kInfos;
}

}  // namespace fettle::kernels
