#include "kernels/opencl/paper.h"

#include <fmt/ranges.h>

#include <sstream>

#include "device/opencl/paper_device.h"
#include "kernels/opencl/launch.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 50, kMostItems = 1 << 20;

template <typename MmaFactsOrConst, typename Visit>
void ForEachMatrixFact(MmaFactsOrConst& mma, const Visit& visit) {
  visit("mma", mma.available);
  visit("mma_bits", mma.bits);
  visit("mma_warpgroups", mma.warpgroups);
  visit("mma_float_warpgroups", mma.float_warpgroups);
  visit("mma_byte_warpgroups", mma.byte_warpgroups);
  visit("mma_local_bytes", mma.local_bytes, 0, kMostBytes);
}

/// Calls visit(name, member) for each fact, or visit(name, member, least, most).
template <typename OpenClFactsOrConst, typename Visit>
void ForEachFact(OpenClFactsOrConst& facts, const Visit& visit) {
  visit("platform", facts.platform);
  visit("name", facts.name);
  visit("vendor", facts.vendor);
  visit("version", facts.version);
  visit("driver", facts.driver);
  visit("family", facts.family);
  visit("is_cpu", facts.is_cpu);
  visit("full_profile", facts.full_profile);
  visit("compute_units", facts.compute_units, 1, kMostItems);
  visit("max_work_group_size", facts.max_work_group_size, 1, kMostItems);
  visit("max_work_items_x", facts.max_work_item_sizes[0], 1, kMostBytes);
  visit("max_work_items_y", facts.max_work_item_sizes[1], 1, kMostBytes);
  visit("max_work_items_z", facts.max_work_item_sizes[2], 1, kMostBytes);
  visit("global_bytes", facts.global_bytes, 1, kMostBytes);
  visit("max_allocation_bytes", facts.max_allocation_bytes, 0, kMostBytes);
  visit("global_cache_bytes", facts.global_cache_bytes, 0, kMostBytes);
  visit("local_bytes", facts.local_bytes, 0, kMostBytes);
  visit("local_memory_is_dedicated", facts.local_memory_is_dedicated);
  visit("unified_memory", facts.unified_memory);
  visit("base_address_align", facts.base_address_align, 1, kMostItems);
  visit("images", facts.images);
  visit("half_images", facts.half_images);
  visit("image2d_max_width", facts.image2d_max_width, 0, kMostBytes);
  visit("image2d_max_height", facts.image2d_max_height, 0, kMostBytes);
  visit("image1d_buffer_max_pixels", facts.image1d_buffer_max_pixels, 0, kMostBytes);
  visit("image_pitch_alignment_pixels", facts.image_pitch_alignment_pixels, 1, kMostBytes);
  visit("fp16_storage", facts.fp16_storage);
  visit("fp16_compute", facts.fp16_compute);
  visit("int8_dot", facts.int8_dot);
  visit("svm_coarse", facts.svm_coarse);
  visit("svm_fine", facts.svm_fine);
  visit("sub_groups", facts.sub_groups);
  visit("extensions", facts.extensions);
  ForEachMatrixFact(facts.mma, visit);
}

struct Writer {
  Facts& facts;

  void operator()(const char* name, const std::string& text) const { facts[name] = text; }
  void operator()(const char* name, bool flag) const { facts[name] = flag; }
  void operator()(const char* name, int64_t size, int64_t, int64_t) const { facts[name] = size; }
  void operator()(const char* name, const std::vector<std::string>& words) const {
    facts[name] = fmt::format("{}", fmt::join(words, " "));
  }
};

/// The first failure stays.
struct Reader {
  const Facts& facts;
  Status& status;

  template <typename T>
  const T* Find(const char* name, std::string_view what) const {
    if (!status.ok()) return nullptr;
    const auto found = facts.find(name);
    const T* value = found == facts.end() ? nullptr : std::get_if<T>(&found->second);
    if (found == facts.end()) status = InvalidArgument("{}: is missing", name);
    if (status.ok() && value == nullptr) status = InvalidArgument("{}: expected {}", name, what);
    return value;
  }

  void operator()(const char* name, std::string& text) const {
    if (const auto* value = Find<std::string>(name, "a text")) text = *value;
  }
  void operator()(const char* name, bool& flag) const {
    if (const auto* value = Find<bool>(name, "true or false")) flag = *value;
  }
  template <typename Size>
  void operator()(const char* name, Size& size, int64_t least, int64_t most) const {
    const auto* value = Find<int64_t>(name, "a whole number");
    if (value == nullptr) return;
    size = static_cast<Size>(*value);
    if (*value < least || *value > most)
      status = InvalidArgument("{}: expected {} to {}, got {}", name, least, most, *value);
  }
  void operator()(const char* name, std::vector<std::string>& words) const {
    const auto* value = Find<std::string>(name, "a text");
    if (value == nullptr) return;
    std::istringstream stream(*value);
    for (std::string word; stream >> word;) words.push_back(word);
  }
};

}  // namespace

Facts FactsOfOpenCl(const Device& device) {
  Facts facts;
  ForEachFact(AsOpenCl(device).facts(), Writer{facts});
  return facts;
}

Result<std::shared_ptr<const Device>> OpenClOnPaper(const Facts& facts) {
  OpenClFacts made;
  Status status;
  ForEachFact(made, Reader{facts, status});
  RETURN_IF_ERROR(status);
  Facts known;
  ForEachFact(std::as_const(made), Writer{known});
  for (const auto& [name, value] : facts)
    if (!known.contains(name)) return InvalidArgument("unknown field '{}'", name);
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClDevice> device, OpenPaperDevice(made));
  return std::shared_ptr<const Device>(std::move(device));
}

}  // namespace fettle::kernels
