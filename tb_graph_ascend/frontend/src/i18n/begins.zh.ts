/* Written by `make messages` from builder/reasons, which alone words a reason. */

export const beginsZh = {
  in: {
    module: "差异始于 {{module}}",
    backward: "差异始于 {{module}} 的反向过程",
    optimizer: "差异始于优化器",
  },
  before: {
    module: "起点在 {{module}} 之前",
    backward: "起点在 {{module}} 的反向过程之前",
    optimizer: "起点在优化器之前",
  },
  before_call: {
    module: "起点在 {{module}} 中的 {{call}} 之前",
    backward: "起点在 {{module}} 的反向过程中的 {{call}} 之前",
    optimizer: "起点在优化器中的 {{call}} 之前",
  },
};
