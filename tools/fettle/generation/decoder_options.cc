#include "generation/decoder_options.h"

#include "jobs/accelerator.h"
#include "jobs/interrupt.h"
#include "language/cache_pool.h"
#include "options/checks.h"

namespace fettle::tools {

Result<language::DecoderOptions> DecoderOptionsFor(const CommonOptions& common, int64_t context,
                                                   const std::string& cache,
                                                   std::vector<std::string>& warnings) {
  language::DecoderOptions with;
  with.context = context;
  with.threads = common.threads;
  ASSIGN_OR_RETURN(with.cache, language::ReadCacheType(cache));
  with.cancelled = &InterruptScope::Flag();
  ASSIGN_OR_RETURN(with.device, OpenAccelerator(common, warnings));
  CommonOptions rest = common;
  rest.device = "cpu";
  if (with.device != nullptr) {
    with.device_only = common.strict_device;
    with.queue_window = static_cast<int>(common.queue_window);
    with.kernel_ms = common.kernel_ms;
    rest.queue_window = 0;
    rest.kernel_ms = 0;
    rest.svm = "off";
  }
  RETURN_IF_ERROR(CheckCpuOptions(rest, warnings));
  return with;
}

CLI::Option* AddCacheType(CLI::App& sub, std::string& type) {
  return sub
      .add_option("--cache-type", type,
                  "keys and values of the tokens read: f16 (default), or bytes, which take half of "
                  "the memory")
      ->check(OneOf({"f16", "bytes"}));
}

}  // namespace fettle::tools
