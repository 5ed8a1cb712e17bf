/* Compiled with all warnings as errors: what users write must give none. */
#include "fettle/fettle.h"

int main(void) {
  const fettle_session_options designated = {.struct_size = sizeof(designated), .threads = 2};
  fettle_session_options raw = FETTLE_SESSION_OPTIONS_INIT;
  fettle_value_info info = FETTLE_VALUE_INFO_INIT;
  fettle_tune_options tune = FETTLE_TUNE_OPTIONS_INIT;
  fettle_tune_report report = FETTLE_TUNE_REPORT_INIT;
  fettle_step step = FETTLE_STEP_INIT;
  fettle_memory memory = FETTLE_MEMORY_INIT;
  fettle_tensor_options tensor = FETTLE_TENSOR_OPTIONS_INIT;
  fettle_map_options map = FETTLE_MAP_OPTIONS_INIT;
  fettle_mapping mapping = FETTLE_MAPPING_INIT;
  fettle_transfers transfers = FETTLE_TRANSFERS_INIT;
  fettle_gemm_options gemm = FETTLE_GEMM_OPTIONS_INIT;
  fettle_tuner_options tuner = FETTLE_TUNER_OPTIONS_INIT;
  fettle_tuner_state state = FETTLE_TUNER_STATE_INIT;
  fettle_tuner_callbacks callbacks = FETTLE_TUNER_CALLBACKS_INIT;
  fettle_generate_options generate = FETTLE_GENERATE_OPTIONS_INIT;
  fettle_generate_facts facts = FETTLE_GENERATE_FACTS_INIT;
  fettle_generate_sampling sampling = FETTLE_GENERATE_SAMPLING_INIT;
  const int same = raw.struct_size == designated.struct_size;
  return same && gemm.struct_size && tensor.struct_size && map.struct_size && mapping.struct_size &&
                 transfers.struct_size && info.struct_size && tune.struct_size &&
                 report.struct_size && step.struct_size && memory.struct_size &&
                 tuner.struct_size && state.struct_size && callbacks.struct_size &&
                 generate.struct_size && facts.struct_size && sampling.struct_size
             ? 0
             : 1;
}
