// Compiled with all warnings as errors: what users write must give none.
#include "fettle/fettle.hpp"

int main() {
  fettle_session_options raw = FETTLE_SESSION_OPTIONS_INIT;
  fettle_value_info info = FETTLE_VALUE_INFO_INIT;
  fettle_tune_options tune = FETTLE_TUNE_OPTIONS_INIT;
  fettle_tune_report report = FETTLE_TUNE_REPORT_INIT;
  fettle_step step = FETTLE_STEP_INIT;
  fettle_memory memory = FETTLE_MEMORY_INIT;
  fettle_gemm_options gemm = FETTLE_GEMM_OPTIONS_INIT;
  fettle_tuner_options tuner = FETTLE_TUNER_OPTIONS_INIT;
  fettle_tuner_state state = FETTLE_TUNER_STATE_INIT;
  fettle_tuner_callbacks callbacks = FETTLE_TUNER_CALLBACKS_INIT;
  fettle_tensor_options tensor = FETTLE_TENSOR_OPTIONS_INIT;
  fettle_map_options map = FETTLE_MAP_OPTIONS_INIT;
  fettle_mapping mapping = FETTLE_MAPPING_INIT;
  fettle_transfers transfers = FETTLE_TRANSFERS_INIT;
  const fettle::MapOptions map_options = {.layout = "NHWC"};
  const fettle::TensorOptions tensor_options = {.memory = "image"};
  const fettle::SessionOptions options = {.threads = 2};
  const fettle::TuneOptions tune_options = {.level = "fast"};
  const fettle::TunerOptions tuner_options = {.strategy = "full"};
  const fettle::TunerCallbacks tuner_callbacks = {
      .run = [](std::span<const int64_t>) { return 1.0; }};
  const fettle::ValueInfo value = {.name = "x"};
  const fettle::Step one = {.node = "n"};
  const fettle::Tuned tuned = {.ms = 1};
  const bool sizes = gemm.struct_size > 0 && raw.struct_size > 0 && info.struct_size > 0 &&
                     tune.struct_size > 0 && report.struct_size > 0 && step.struct_size > 0 &&
                     memory.struct_size > 0 && tuner.struct_size > 0 && tensor.struct_size > 0 &&
                     map.struct_size > 0 && mapping.struct_size > 0 && transfers.struct_size > 0 &&
                     state.struct_size > 0 && callbacks.struct_size > 0;
  const bool values = options.threads == 2 && tune_options.level != nullptr && tuned.ms > 0 &&
                      tuner_options.strategy == "full" && tuner_callbacks.run != nullptr &&
                      map_options.layout != nullptr && tensor_options.memory != nullptr &&
                      value.name == "x" && one.node == "n";
  return sizes && values ? 0 : 1;
}
