/* Written by `make messages` from builder/reasons, which alone words a reason. */

export const beginsEn = {
  in: {
    module: "It begins in {{module}}",
    backward: "It begins in the backward pass of {{module}}",
    optimizer: "It begins in the optimizer",
  },
  before: {
    module: "It begins before {{module}}",
    backward: "It begins before the backward pass of {{module}}",
    optimizer: "It begins before the optimizer",
  },
  before_call: {
    module: "It begins before {{call}} in {{module}}",
    backward: "It begins before {{call}} in the backward pass of {{module}}",
    optimizer: "It begins before {{call}} in the optimizer",
  },
};
