#include "ops/attention/grouped_heads.h"

#include <cmath>

namespace fettle::ops {

Result<GroupedHeads> ReadGroupedHeads(const ir::Node& node, int64_t q_heads, int64_t kv_heads,
                                      const Shape& q, const Shape& k, const Shape& v) {
  if (kv_heads < 1 || q_heads < 1 || q_heads % kv_heads != 0)
    return InvalidModel("{} query heads do not share {} key heads", q_heads, kv_heads);
  const bool fits = q.rank() == 3 && k.rank() == 3 && v.rank() == 3 && k[0] == q[0] &&
                    v[0] == q[0] && k[1] == q[1] && v[1] == q[1] && q[2] % q_heads == 0 &&
                    v[2] % kv_heads == 0 && k[2] == q[2] / q_heads * kv_heads;
  if (!fits)
    return InvalidModel("queries {}, keys {} and values {} do not fit", q.ToString(), k.ToString(),
                        v.ToString());
  GroupedHeads heads{.batch = q[0],
                     .length = q[1],
                     .q_heads = q_heads,
                     .kv_heads = kv_heads,
                     .size = q[2] / q_heads,
                     .v_size = v[2] / kv_heads,
                     .scale = node.attributes.Float("scale", 0)};
  if (heads.scale == 0) heads.scale = 1 / std::sqrt(static_cast<double>(heads.size));
  return heads;
}

}  // namespace fettle::ops
