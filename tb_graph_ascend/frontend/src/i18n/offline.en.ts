/* What a page without a server says of what it cannot do. */
export const offlineEn = {
  readOnly: "This page needs no server and changes nothing: manual pairs are shown. To map and rebuild, open the result with msprobe serve.",
  pictures: "This page holds no tensors: for pictures, open the result with msprobe serve where its dumps are.",
  files: "Tables of nodes: msprobe serve",
  share: "Slides, and tables of values: msprobe serve",
};
