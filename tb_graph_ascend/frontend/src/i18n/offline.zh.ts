/* 无服务页面对其不能完成之事的说明。 */
export const offlineZh = {
  readOnly: "此页面无需服务，不作任何更改：手动配对只能查看。如需映射和重建，请用 msprobe serve 打开结果。",
  pictures: "此页面不含张量：如需图像，请在采集数据所在处用 msprobe serve 打开结果。",
  files: "节点表格：msprobe serve",
  share: "幻灯片和数值表格：msprobe serve",
};
