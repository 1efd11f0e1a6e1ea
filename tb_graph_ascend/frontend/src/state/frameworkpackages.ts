/* Written by `make messages` from msprobe_core/format/frameworks. */

/** In whose files a framework or the recorder speaks. */
export const FRAMEWORK_PACKAGES = ["mindspore", "msprobe", "msprobe_core", "torch", "torch_npu"] as const;
