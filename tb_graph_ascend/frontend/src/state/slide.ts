/* Draws the slide that the server made into a PNG of the same size. */

const WIDTH = 1920;
const HEIGHT = 1080;

export async function slideAsPng(svg: Blob): Promise<Blob> {
  const address = URL.createObjectURL(svg);
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = WIDTH;
    canvas.height = HEIGHT;
    canvas.getContext("2d")?.drawImage(image, 0, 0, WIDTH, HEIGHT);
    return await new Promise((done, failed) => {
      canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("the slide cannot be drawn"))), "image/png");
    });
  } finally {
    URL.revokeObjectURL(address);
  }
}
