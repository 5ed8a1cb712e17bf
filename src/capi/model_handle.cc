// fettle.h: models.
#include <algorithm>

#include "base/log.h"
#include "capi/handles.h"
#include "capi/parts.h"
#include "capi/structs.h"

using fettle::OkStatus;
using fettle::Status;
using fettle::capi::Guard;

namespace {

/// Describes value `index` of a list; the dims past the rank are 0.
Status Describe(const fettle::ir::Graph& graph, const std::vector<fettle::ir::ValueId>& list,
                size_t index, fettle_value_info* info) {
  FETTLE_REQUIRE(info);
  if (index >= list.size()) {
    return fettle::Error(fettle::StatusCode::kNotFound, "index {} of {} values", index,
                         list.size());
  }
  const fettle::ir::Value& value = graph.value(list[index]);
  fettle_value_info result = {};
  result.name = value.name.c_str();
  result.dtype = fettle::capi::ToC(value.dtype);
  result.rank = value.shape ? value.shape->rank() : -1;
  if (result.rank > FETTLE_MAX_RANK)
    return fettle::Unsupported("'{}' has rank {}", value.name, result.rank);
  if (value.shape) std::copy(value.shape->begin(), value.shape->end(), result.dims);
  for (size_t axis = 0; axis < value.symbols.size(); ++axis) {
    if (axis < FETTLE_MAX_RANK && !value.symbols[axis].empty() && result.dims[axis] < 0)
      result.symbols[axis] = value.symbols[axis].c_str();
  }
  return fettle::capi::WriteStruct(result, info);
}

/// What loading wants to say, to the log.
fettle_model* Hand(std::shared_ptr<const fettle::runtime::Model> model) {
  for (const std::string& warning : model->warnings())
    fettle::Log(fettle::LogLevel::kWarn, "{}", warning);
  return new fettle_model{std::move(model)};
}

}  // namespace

fettle_status fettle_model_load(const char* path, fettle_model** model) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(path);
    FETTLE_REQUIRE(model);
    ASSIGN_OR_RETURN(auto loaded, fettle::capi::LoadModel(path));
    *model = Hand(std::move(loaded));
    return OkStatus();
  });
}

fettle_status fettle_model_load_bytes(const void* bytes, size_t size, const char* name,
                                      fettle_model** model) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(bytes);
    FETTLE_REQUIRE(model);
    ASSIGN_OR_RETURN(auto loaded,
                     fettle::capi::LoadModelBytes({static_cast<const std::byte*>(bytes), size},
                                                  name == nullptr ? "model" : name));
    *model = Hand(std::move(loaded));
    return OkStatus();
  });
}

void fettle_model_free(fettle_model* model) { delete model; }

size_t fettle_model_input_count(const fettle_model* model) {
  return model == nullptr ? 0 : model->model->graph().inputs.size();
}

size_t fettle_model_output_count(const fettle_model* model) {
  return model == nullptr ? 0 : model->model->graph().outputs.size();
}

fettle_status fettle_model_input(const fettle_model* model, size_t index, fettle_value_info* info) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(model);
    return Describe(model->model->graph(), model->model->graph().inputs, index, info);
  });
}

fettle_status fettle_model_output(const fettle_model* model, size_t index,
                                  fettle_value_info* info) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(model);
    return Describe(model->model->graph(), model->model->graph().outputs, index, info);
  });
}
